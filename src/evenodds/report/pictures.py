"""Which pictures a run's page shows, each with the sentence that says what to look for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenodds.report.comparison import Comparison, Curves, Side, sides
from evenodds.report.plots import (
    Axes,
    Band,
    Group,
    Line,
    interval_plot,
    line_plot,
    share_plot,
)
from evenodds.report.record import RunRecord
from evenodds.report.series import Series, is_number, of_metric
from evenodds.report.svg import nice_ticks
from evenodds.report.text import shortened
from evenodds.statistics import CatchUp, Estimate, percent

DIFFICULTY = "Difficulty of the problems"
LABEL = 16  # longest label of a level beside an axis
SHARES = (0.0, 1.0)
CLIPPED = "clip_ratio/region_mean"
RATIOS = ("min", "p01", "mean", "p99", "max")


@dataclass(frozen=True)
class Picture:
    """A figure: its heading, SVG text, and a caption."""

    title: str
    svg: str
    caption: str


def tries_pictures(run: RunRecord) -> list[Picture]:
    """What training changed on problems that it never saw, over all of them."""
    found = run.comparison
    if found is None:
        return _single(run)
    majority = [_maj_at_k(found.majority)] if found.majority.ks else []
    return [_pass_at_k(found.curves, found.catch_up), *majority]


def level_pictures(run: RunRecord) -> list[Picture]:
    """The same by level."""
    found = run.comparison
    if found is None:
        return []
    greedy = any(row.before.greedy for row in found.levels)
    pictures = [_by_level(found, greedy=False)]
    pictures += [_by_level(found, greedy=True)] if greedy else []
    return [*pictures, _gains(found)]


def _single(run: RunRecord) -> list[Picture]:
    evaluation, name = (run.base, "base") if run.base else (run.final, "trained")
    if evaluation is None:
        return []
    rows = [
        Group(shortened(label, LABEL), (side.sampled,)) for _, label, _, side in sides(evaluation)
    ]
    title = f"Solve rate by level, {name} model"
    svg = interval_plot(title, rows, (name,), "share of sampled answers that are right")
    return [Picture(title, svg, "Dots are means over held-out problems, bars 95 % intervals.")]


def _by_level(found: Comparison, greedy: bool) -> Picture:
    def estimate(side: Side) -> Estimate | None:
        return side.greedy if greedy else side.sampled

    rows = [
        Group(shortened(row.label, LABEL), (estimate(row.before), estimate(row.after)))
        for row in found.levels
    ]
    kind = "greedy" if greedy else "sampled"
    title = f"Solve rate by level, {kind}"
    svg = interval_plot(
        title, rows, ("before", "after"), f"right {kind} answers, with 95 % interval"
    )
    if greedy:
        return Picture(
            title,
            svg,
            "Greedy: the model's single likeliest answer to each problem. "
            "A gain here is more than becoming surer of what it mostly said already.",
        )
    return Picture(
        title,
        svg,
        "Sampled: answers drawn at random, as in training. Look for filled dots to the right of "
        "hollow ones; whether that is evidence, the change paired by problem says.",
    )


def _gains(found: Comparison) -> Picture:
    title = "Change by level"
    rows = [Group(shortened(row.label, LABEL), (row.gain,)) for row in found.levels]
    ends = [end for row in found.levels for end in (row.gain.low, row.gain.high)]
    step = 0.25 if max(ends, default=0) - min(ends, default=0) > 0.5 else 0.1
    low = math.floor(min([0.0, *ends]) / step)
    high = math.ceil(max([step, *ends]) / step - 1e-9)
    ticks = [(step * i, f"{100 * step * i:+.0f}" if i else "0") for i in range(low, high + 1)]
    svg = interval_plot(title, rows, ("change",), "change in points, paired by problem", ticks)
    return Picture(
        title,
        svg,
        "Each problem is compared with itself. A bar that crosses zero is evidence of neither gain "
        "nor loss. One that only just clears it may be none either, for several levels are looked "
        "at; the verdicts in the table know of that."
        if len(found.levels) > 1
        else "Each problem is compared with itself. A bar that crosses zero is evidence of neither "
        "gain nor loss.",
    )


def _pass_at_k(curves: Curves, catch_up: CatchUp | None) -> Picture:
    title = "At least one right answer in k tries (pass@k)"
    return Picture(
        title,
        _tries(title, curves),
        f"{caught_up(catch_up)}Bands are 95 % intervals over problems. If the base catches up as "
        "k grows, training made known answers likelier; if the trained line stays above, it solves "
        "problems that the base does not solve in so many tries.",
    )


def caught_up(found: CatchUp | None) -> str:
    """With how many tries the base solves as much, in a sentence; empty where it is not behind."""
    if found is None:
        return ""
    never = f"with up to {found.most} tries" + (
        "" if found.low is None else f", though it may from {found.low:.1f} on (95 % interval)"
    )
    if found.k is None:
        return f"The base does not catch up {never}. "
    low, high = (f"{k:.1f}" if k is not None else f"beyond {found.most}" for k in found.ends)
    return f"The base catches up at {found.k:.1f} tries (95 % interval {low} to {high}). "


def _maj_at_k(curves: Curves) -> Picture:
    title = "The most frequent of k answers is right (maj@k)"
    return Picture(
        title,
        _tries(title, curves),
        "A tie is no majority. Where this rises with k, voting over several answers pays; where "
        "the trained line is flat, it gives nearly the same answer every time.",
    )


def _tries(title: str, curves: Curves) -> str:
    """Two curves over k, base and trained, with their intervals."""
    xs = tuple(math.log2(k) for k in curves.ks)
    lines: list[Line] = []
    bands: list[Band] = []
    for name, colour, side in (("base", 2, curves.before), ("trained", 1, curves.after)):
        lines.append(Line(Series(xs, tuple(e.mean for e in side)), name, colour, marks=True))
        low, high = (tuple(getattr(e, end) for e in side) for end in ("low", "high"))
        bands.append(Band(Series(xs, low), Series(xs, high), colour))
    ticks = [(math.log2(k), str(k)) for k in curves.ks]
    axes = Axes("problems solved", "k, tries a problem", SHARES, percent=True, x_ticks=ticks)
    return line_plot(title, lines, axes, bands)


def training_pictures(run: RunRecord) -> list[Picture]:
    """What happened step by step."""
    ladder = [] if len(run.levels) == 1 else [_difficulty(run)]
    ratio = [] if ratio_sentence(run) else [_ratio(run)]
    return [
        *ladder,
        _solve_rate(run),
        _informative(run),
        _entropy(run),
        *([_kl(run)] if of_metric(run.metrics, "kl") else []),
        *ratio,
        *([_clipped(run)] if any(of_metric(run.metrics, CLIPPED).ys) else []),
        _length(run),
    ]


def ratio_sentence(run: RunRecord) -> str | None:
    """What stands for a picture of the ratio where it is 1 throughout; None where it is not."""
    series = [of_metric(run.metrics, f"ratio/{name}") for name in RATIOS]
    away = [abs(value - 1) for item in series for value in item.ys]
    if not away or max(away) > 1e-4:
        return None
    return (
        "The ratio of new to old probability is not drawn: with one pass over each batch it is 1, "
        f"and here its largest deviation from 1 was {max(away):.1e}."
    )


def _difficulty(run: RunRecord) -> Picture:
    title = DIFFICULTY
    series = of_metric(run.metrics, "difficulty")
    ticks = _level_ticks(run, series)
    axes = Axes("level of the problems drawn", least=1.0, y_ticks=ticks)
    svg = line_plot(title, [Line(series)], axes)
    caption = (
        "The controller makes problems harder while more than the target "
        "share is solved, and easier while less is. Look for a climb."
        if run.setting("curriculum", "kind") in (None, "ladder")
        else "The mean level of the problems drawn; this curriculum does not move it."
    )
    return Picture(title, svg, caption)


def _level_ticks(run: RunRecord, series: Series) -> list[tuple[float, str]] | None:
    if not series or not run.levels:
        return None
    low, high = min(series.ys), max(series.ys)
    whole = nice_ticks(low - 0.5, high + 0.5, 10, whole=True)
    inside = [value for value in whole if 0 <= value < len(run.levels)]
    return [(value, shortened(run.levels[int(value)], LABEL)) for value in inside]


def _solve_rate(run: RunRecord) -> Picture:
    title = "Solve rate while training"
    line = Line(of_metric(run.metrics, "solve_rate"), smooth=True)
    target = run.setting("curriculum", "target")
    aim = float(target) if is_number(target) else 0.5
    steered = run.setting("curriculum", "kind") in (None, "ladder")
    mark = (aim, "target") if steered else None
    axes = Axes("right answers", y_range=SHARES, percent=True, reference=mark)
    caption = (
        f"Near {percent(aim)} a group of answers tells most, so a flat line at the dashed target "
        "is success here: as the model gets better, the problems get harder."
        if steered
        else "The levels stay the same here, so look for a rise: the same kind of problem is "
        "solved more often."
    )
    svg = line_plot(title, [line], axes)
    return Picture(title, svg, f"Bold: running mean; faint: single steps. {caption}")


def _informative(run: RunRecord) -> Picture:
    title = "Groups that teach"
    names = (
        ("groups/all_right", "all right", 3),
        ("groups/mixed", "mixed", 1),
        ("groups/all_wrong", "all wrong", 2),
    )
    found = [Line(series, label, colour) for series, label, colour in _aligned(run, names)]
    return Picture(
        title,
        share_plot(title, found, "share of the step's groups"),
        (
            "A group is all answers to one problem. Where answers are paid by right or wrong "
            "alone, only mixed groups have anything to learn from. Look for a wide middle band; "
            "a band too thin for its name has none."
        ),
    )


def _aligned(
    run: RunRecord, names: Sequence[tuple[str, str, int]]
) -> list[tuple[Series, str, int]]:
    """The series over the steps that have all of them, for only those can be stacked."""
    rows = [row for row in run.metrics if all(is_number(row.get(key)) for key, _, _ in names)]
    return [(of_metric(rows, key), label, colour) for key, label, colour in names]


def metric_picture(run: RunRecord, title: str, metric: str, axes: Axes, caption: str) -> Picture:
    """One metric over the steps, smoothed where they are many."""
    line = Line(of_metric(run.metrics, metric), smooth=True)
    return Picture(title, line_plot(title, [line], axes), caption)


def _entropy(run: RunRecord) -> Picture:
    return metric_picture(
        run,
        "Entropy",
        "entropy",
        Axes("nats a token", least=0.05, from_zero=True),
        "How undecided the model is about its next token. It falls as the "
        "model grows surer; a plunge to zero means that it stopped exploring.",
    )


def _kl(run: RunRecord) -> Picture:
    return metric_picture(
        run,
        "Distance from the start (KL)",
        "kl",
        Axes("nats a token", least=0.01, from_zero=True),
        "KL of the policy to the one that training started from, the estimator k3 on the sampled "
        "tokens. A steady rise is learning; a sudden one is a policy that ran away.",
    )


def _ratio(run: RunRecord) -> Picture:
    title = "Ratio of new to old probability"
    ends = {name: of_metric(run.metrics, f"ratio/{name}") for name in RATIOS}
    bands = [
        Band(ends["min"], ends["max"], faint=True, label="min–max"),
        Band(ends["p01"], ends["p99"], label="1–99 %"),
    ]
    mean = Line(ends["mean"], "mean")
    axes = Axes("ratio, logarithmic", log=True)
    return Picture(
        title,
        line_plot(title, [mean], axes, bands),
        (
            "How far an update moved the probability of the sampled tokens; exactly 1 before the "
            "first update on a batch. Look for a mean at 1 and for tails that stay narrow."
        ),
    )


def _clipped(run: RunRecord) -> Picture:
    title = "Tokens that the clip silenced"
    names = (("high_mean", "of better answers", 1), ("low_mean", "of worse answers", 2))
    lines = [
        Line(of_metric(run.metrics, f"clip_ratio/{key}"), label, colour)
        for key, label, colour in names
    ]
    return Picture(
        title,
        line_plot(title, lines, Axes("share of their tokens", y_range=SHARES, percent=True)),
        "In the last pass over a batch. Some is what a clip is for; most of them means that the "
        "passes after the first teach little, or that the bounds are too narrow.",
    )


def _length(run: RunRecord) -> Picture:
    return metric_picture(
        run,
        "Answer length",
        "completions/mean_length",
        Axes("tokens an answer", least=4.0, from_zero=True),
        "Longer work on harder problems is expected; growth while difficulty "
        "stands still, or answers as long as the budget, is a warning.",
    )
