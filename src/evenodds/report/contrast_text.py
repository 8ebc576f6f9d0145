"""What `evenodds compare` prints: two tables and plain sentences, at most 100 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evenodds.evaluation import Record
from evenodds.report.comparison import BETTER, FEWEST, NO_EVIDENCE, TOO_FEW, WORSE
from evenodds.report.contrast import Arm, Contrast, Line
from evenodds.report.contrast import contrast as make_contrast
from evenodds.report.text import counted, listed, one_line, p_words
from evenodds.statistics import Estimate, holm

WIDTH = 100
NAME = 40


def page(contrast: Contrast) -> list[str]:
    """One arm against another."""
    a, b = _name(contrast.first), _name(contrast.second)
    title = f"A: {a}. B: {b}. {counted(contrast.problems, 'matched problem')}"
    if max(contrast.seeds) > 1:
        title += f", {_seeds(contrast.seeds[0])} against {_seeds(contrast.seeds[1])}"
    lines = [*_wrapped(title), ""]
    if contrast.problems:
        lines += [*_by_level(contrast), "", *_beside(contrast)]
        lines += [*_overall(contrast), *_by_source(contrast), ""]
    return lines + [line for text in sentences(contrast) for line in _wrapped(text)]


def sentences(contrast: Contrast) -> list[str]:
    """The verdict first, then what it does not show."""
    if not contrast.problems:
        return ["The two share no judged problem, so nothing can be said."]
    found = [verdict(contrast), *_turned(contrast)]
    if contrast.catch_up is not None and contrast.overall.verdict == BETTER:
        reaches = "does not reach" if contrast.catch_up.k is None else "reaches"
        found.append(
            f"Pass@k of {_name(contrast.first)} {reaches} that of {_name(contrast.second)} "
            f"{str(contrast.catch_up).removeprefix('not ')}."
        )
    if contrast.unmatched:
        found.append(f"{counted(contrast.unmatched, 'problem')} without a match left out.")
    return [*found, *_doubts(contrast), *_control(contrast)]


def verdict(contrast: Contrast) -> str:
    """`B is better than A: +8.0 points [...]. Better on …, no evidence elsewhere.`"""
    line, a, b = contrast.overall, _name(contrast.first), _name(contrast.second)
    numbers = f"{line.gain.points()} at one try, {p_words(line.adjusted)}"
    said = {
        BETTER: f"{b} is better than {a}: {numbers}.",
        WORSE: f"{b} is worse than {a}: {numbers}.",
        NO_EVIDENCE: f"No evidence that {b} differs from {a}: {numbers}.",
        TOO_FEW: f"Too few problems for a verdict: {line.problems}, of at least {FEWEST}.",
    }[line.verdict]
    return f"{said} {_where(contrast)}".strip()


def _where(contrast: Contrast) -> str:
    """By level, in words; empty for a single level."""
    if len(contrast.levels) < 2:
        return ""
    parts = [
        f"{word} on {_ranges(contrast, word)}" for word in (BETTER, WORSE) if contrast.labels(word)
    ]
    rest = "elsewhere" if parts else "on any level alone"
    if contrast.labels(NO_EVIDENCE):
        parts.append(f"no evidence {rest}")
    if contrast.labels(TOO_FEW):
        parts.append(f"fewer than {FEWEST} problems on {_ranges(contrast, TOO_FEW)}")
    text = ", ".join(parts)
    return text[:1].upper() + text[1:] + "."


def _ranges(contrast: Contrast, word: str) -> str:
    """Labels, three and more neighbours as `first to last`."""
    runs: list[list[str]] = [[]]
    for line in contrast.levels:
        if line.verdict == word:
            runs[-1].append(one_line(line.label, 24))
        elif runs[-1]:
            runs.append([])
    if len(runs[0]) == len(contrast.levels):
        return "every level"
    return listed(
        [name for run in runs for name in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else run)]
    )


def _turned(contrast: Contrast) -> list[str]:
    """How many problems were gained and lost, where each arm is one policy."""
    if contrast.pair is None:
        return []
    found = contrast.pair.coverage
    left = contrast.pair.overall.problems - found.problems
    out = f", {left} left out that have not as many judged answers on both sides" if left else ""
    return [
        f"Solved at least once: {counted(found.gained, 'problem')} gained, {found.lost} lost, "
        f"{found.kept} kept, {found.never} never{out} "
        f"(gained - lost {found.net.points()}; McNemar {p_words(found.p)})."
    ]


def _doubts(contrast: Contrast) -> list[str]:
    """What a reader must know before believing it."""
    found: list[str] = []
    largest = [line for line in contrast.measures if line.label == f"pass@{contrast.k}"]
    if largest and contrast.overall.verdict == BETTER and largest[0].gain.high < 0:
        found.append(
            f"But with {contrast.k} tries a problem it solves fewer ({largest[0].gain.points()}): "
            "it was sharpened, it did not learn more."
        )
    return found


def _control(contrast: Contrast) -> list[str]:
    """What became of a task that was not taught."""
    line = contrast.control
    if line is None:
        return []
    if not line.before and not line.after:
        return [f"Control task {one_line(line.label, NAME)}: neither solves any of it."]
    means = f"{_percent(line.before)} % and {_percent(line.after)} %, {line.gain.points()}"
    return [f"Control task {one_line(line.label, NAME)}: {means}: {line.verdict}."]


def one_seed(arms: Sequence[Arm]) -> list[str]:
    """Said once: a single training tells of that training only."""
    if not any(arm.is_trained and len(arm.records) == 1 for arm in arms):
        return []
    return [
        "A run of one seed speaks for that run only: another run of the same kind, with another "
        "seed, may well be better or worse than this one. Several seeds tell (--arm NAME RUN RUN "
        "RUN)."
    ]


def random_sentences(arms: Sequence[Arm]) -> list[str]:
    """For each arm whose training was paid by its verifier, against each that was paid at random.

    Whether a gain is more than what training gives where the reward means nothing.
    """
    paid = [arm for arm in arms if arm.is_trained and not arm.random_reward]
    chance = [arm for arm in arms if arm.random_reward]
    pairs = [(arm, other) for other in chance for arm in paid]
    lines = [make_contrast(other, arm).overall for arm, other in pairs]
    looks = holm([1.0 if math.isnan(line.p) else line.p for line in lines])
    return [
        _against_random(*pair, replace(line, adjusted=look))
        for pair, line, look in zip(pairs, lines, looks, strict=True)
    ]


def _against_random(arm: Arm, random: Arm, line: Line) -> str:
    """That the reward made the difference is said only where both arms have several seeds.

    Two runs of one kind differ as well, by their seeds, and one run of each shows nothing of that.
    """
    a, r, gain = _name(arm.name), _name(random.name), line.gain.points()
    if line.verdict == BETTER and min(len(arm.records), len(random.records)) < 2:
        return (
            f"{r} was paid at random. {a} does better than that by {gain}. Whether that is its "
            "reward or its seed, only several seeds of both can tell."
        )
    if line.verdict == BETTER:
        return (
            f"{r} was paid at random. {a} does better than that by {gain}: the difference is owed "
            "to its reward."
        )
    if line.verdict == WORSE:
        return f"{r} was paid at random, and {a} does worse than that: {gain}."
    if line.verdict == TOO_FEW:
        return f"{r} was paid at random. Whether {a} does better, too few problems can tell."
    return (
        f"{r} was paid at random, and {a} does not do surely better than that ({gain}): no "
        "evidence that its reward taught it anything."
    )


def how(record: Record) -> list[str]:
    """A line or two: on what, judged by what, how often and how it was sampled."""
    settings = record.get("settings") or {}
    parts = [str(record.get("task") or ""), _said("verifier {}", record.get("verifier"))]
    parts += [
        _said("{} answers to a problem", settings.get("samples")),
        _said("temperature {}", settings.get("temperature")),
        _said("at most {} tokens", settings.get("max_tokens")),
        _said("seed {}", settings.get("seed")),
    ]
    return _wrapped(", ".join(one_line(part, WIDTH) for part in parts if part))


def _said(text: str, value: Any) -> str:
    return text.format(f"{value:g}" if isinstance(value, float) else value) if value else ""


def ending(results: Sequence[Contrast], said: Sequence[str]) -> list[str]:
    """What holds for all comparisons: corrections, the random arm, runs that go on."""
    several = len(results) > 1, any(len(result.levels) > 1 for result in results)
    names = [name for name, is_so in zip(("comparisons", "levels"), several, strict=True) if is_so]
    text = "Intervals are of 95 %, for each number alone"
    if names:
        text += f"; verdicts are corrected for the number of {listed(names)} (Holm)"
    return [line for text in (*said, f"{text}.") for line in _wrapped(one_line(text))]


def _by_level(contrast: Contrast) -> list[str]:
    k = contrast.k
    tries = f"at {k} tries" if k > 1 else ""
    head = f"{'level':<14} {'n':>4} {'A':>6} {'B':>6}  {'B - A at one try':<22} {tries:<23} verdict"
    rows = zip(contrast.levels, contrast.levels_at_k, strict=True)
    lines = [_row(one, many if k > 1 else None) for one, many in rows]
    if len(contrast.levels) > 1:
        last = [line for line in contrast.measures if line.label == f"pass@{k}"]
        lines.append(_row(contrast.overall, last[0] if last else None))
    return [head.rstrip(), *lines]


def _beside(contrast: Contrast) -> list[str]:
    """B - A by level in what is no sampled rate; nothing for a single level: it is all of them."""
    if len(contrast.levels) < 2:
        return []
    head = f"{'B - A':<14} {f'maj@{contrast.k}':<24} {'greedy':<24} length, tokens"
    rows = zip(contrast.levels_agreed, contrast.levels_greedy, contrast.lengths, strict=True)
    lines = [
        f"{one_line(agreed.label, 14):<14} {_gain(agreed.gain):<24} {_gain(greedy.gain):<24} "
        f"{_longer(lengths, gain)}"
        for (agreed, greedy, lengths), gain in zip(rows, contrast.length_gains, strict=True)
    ]
    return [head, *lines, ""]


def _longer(lengths: tuple[float | None, float | None], gain: Estimate | None) -> str:
    before, after = lengths
    if before is None or after is None:
        return "-"
    if gain is None:
        return f"{after - before:+.1f}"
    return f"{gain.mean:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"


def _row(one: Line, many: Line | None) -> str:
    tries = _gain(many.gain) if many else ""
    return (
        f"{one_line(one.label, 14):<14} {one.problems:>4} {_percent(one.before):>6} "
        f"{_percent(one.after):>6}  {_gain(one.gain):<22} {tries:<23} {one.verdict}"
    )


def _overall(contrast: Contrast) -> list[str]:
    """Every measure over all levels; the p-values are those of each alone."""
    lines = [f"{'all levels':<14} {'n':>4} {'A':>6} {'B':>6}  {'B - A':<22} each alone"]
    for line in (contrast.overall, *contrast.measures):
        label = "pass@1" if line is contrast.overall else line.label
        lines.append(
            f"{label:<14} {line.problems:>4} {_percent(line.before):>6} {_percent(line.after):>6}  "
            f"{_gain(line.gain):<22} {p_words(line.p)}"
        )
    return [*lines, *_length(contrast)]


def _by_source(contrast: Contrast) -> list[str]:
    """Where each arm is one policy and the problems come from several places."""
    rows = contrast.pair.sources if contrast.pair else ()
    lines = [
        f"{one_line(row.label, 14):<14} {row.problems:>4} {_percent(row.before.sampled.mean):>6} "
        f"{_percent(row.after.sampled.mean):>6}  {_gain(row.gain)}"
        for row in rows
    ]
    return (
        ["", f"{'source':<14} {'n':>4} {'A':>6} {'B':>6}  B - A at one try", *lines] if rows else []
    )


def _length(contrast: Contrast) -> list[str]:
    before, after = contrast.length
    if before is None or after is None:
        return []
    shown = _longer(contrast.length, contrast.length_gain)
    return [f"{'length, tokens':<19} {before:>6.1f} {after:>6.1f}  {shown}"]


def _gain(gain: Estimate) -> str:
    return "-" if math.isnan(gain.mean) else gain.points("")


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}"


def _seeds(count: int) -> str:
    return counted(count, "seed")


def _name(text: str) -> str:
    return one_line(text, NAME)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
