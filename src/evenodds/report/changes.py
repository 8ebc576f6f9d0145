"""Everything that was measured before and after, so that what got worse stands beside what rose.

A share is judged by its interval alone. Lengths and entropies change with every training; they
count as worse only where the change is large as well: `LONGER`, `SURER`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from evenodds.evaluation import Record, finite
from evenodds.report.comparison import BETTER, FEWEST, WORSE, Comparison, Curves, Row, verdict_of
from evenodds.report.conclusion import Evidence
from evenodds.report.pairs import Change, Pair, change_of
from evenodds.report.record import RunRecord
from evenodds.report.series import is_number
from evenodds.report.text import one_line, safe
from evenodds.statistics import Estimate, paired_difference, percent

LONGER = 1.1
"""Answers so many times as long count as worse: each costs more, while training and ever after."""
SURER = 0.5
"""An entropy of at most this share of what it was counts as worse: little is left to explore."""

Group = Literal["all", "level", "source", "greedy", "tries", "control", "audit", "answers", "size"]
Unit = Literal["share", "tokens", "nats", "strategies"]


@dataclass(frozen=True)
class Measure:
    """One thing before and after. change: after - before over problems, in the unit of the thing.

    verdict: `better`, `worse`, `no evidence`, or `changed` where a change is neither. group: which
    sort of thing it is; `answers` is how they look, whether they are right or not.
    """

    what: str
    unit: Unit
    before: float
    after: float
    change: Estimate
    problems: int
    verdict: str
    group: Group = "size"

    @property
    def shown(self) -> tuple[str, str, str]:
        """Before, after and the change with its interval, as a reader wants them."""
        if self.unit == "share":
            return percent(self.before, 1), percent(self.after, 1), self.change.points()
        ends = f"[{self.change.low:+.2f}, {self.change.high:+.2f}]"
        return f"{self.before:.2f}", f"{self.after:.2f}", f"{self.change.mean:+.2f} {ends}"

    @property
    def sentence(self) -> str:
        before, after, change = self.shown
        unit = "" if self.unit == "share" else f" {self.unit}"
        return f"{self.what}: from {before} to {after}{unit} ({change})"

    def to_dict(self) -> dict[str, Any]:
        return {**finite(asdict(self)), "sentence": self.sentence}


def measures_of(run: RunRecord, found: Evidence, pairs: Sequence[Pair]) -> list[Measure]:
    """All that both evaluations measured, what matters most first; nothing without both."""
    if run.comparison is None or found.right is None:
        return []
    return [
        *_by_verifier(run.comparison),
        *_beside(found),
        *_shares(pairs, found.unjudged),
        *_sizes(pairs, _budget(run.final)),
    ]


def got_worse(measures: Sequence[Measure]) -> list[Measure]:
    return [measure for measure in measures if measure.verdict == WORSE]


def by_chance(measures: Sequence[Measure]) -> float:
    """How many of these would look worse on average if nothing had changed at all."""
    return 0.025 * sum(measure.problems >= FEWEST for measure in measures)


def _by_verifier(comparison: Comparison) -> Iterator[Measure]:
    """Right answers: over all levels, by level, greedy, and with several tries."""
    row = comparison.overall
    yield _row("right answers, sampled", row, "all")
    if len(comparison.levels) > 1:
        for one in comparison.levels:
            yield _row(f"right answers at {safe(one.label)}", one, "level")
    for one in comparison.sources:
        yield _row(f"right answers to problems from {one_line(one.label, 60)}", one, "source")
    if row.before.greedy and row.after.greedy and row.greedy_gain:
        before, after = row.before.greedy.mean, row.after.greedy.mean
        yield _share(
            "right answers, greedy", before, after, row.greedy_gain, row.problems, "greedy"
        )
    yield from _by_tries(comparison.curves, "solved in {k} tries (pass@{k})", row.problems)
    yield from _by_tries(comparison.majority, "right by a vote of {k} (maj@{k})", row.problems)


def _by_tries(curves: Curves, what: str, problems: int) -> Iterator[Measure]:
    sides = zip(curves.ks, curves.before, curves.after, curves.gain, strict=True)
    for k, first, second, gain in sides:
        if k > 1:
            name = what.format(k=k)
            yield _share(name, first.mean, second.mean, gain, problems, "tries")


def _row(what: str, row: Row, group: Group) -> Measure:
    before, after = row.before.sampled.mean, row.after.sampled.mean
    return _share(what, before, after, row.gain, row.problems, group)


def _share(
    what: str,
    before: float,
    after: float,
    change: Estimate,
    problems: int,
    group: Group,
    rising: str = BETTER,
) -> Measure:
    """rising: what a rise of this share is, `better` or `worse`."""
    verdict = verdict_of(change, problems)
    if rising == WORSE and verdict in (BETTER, WORSE):
        verdict = _opposite(verdict)
    return Measure(what, "share", before, after, change, problems, verdict, group)


def _opposite(verdict: str) -> str:
    return WORSE if verdict == BETTER else BETTER


def _beside(found: Evidence) -> Iterator[Measure]:
    """The control task, and what the audit says."""
    if found.control is not None:
        name = one_line(found.control_task, 60) or "control task"
        yield _changed(f"right answers outside the task ({name})", found.control, "control")
    if found.audit is None:
        return
    yield _changed("right answers by the audit", found.audit.right, "audit")
    yield _changed("verifier and audit differ", found.audit.disagreement, "audit", WORSE)


def _changed(what: str, change: Change, group: Group, rising: str = BETTER) -> Measure:
    before, after = change.before.mean, change.after.mean
    return _share(what, before, after, change.gain, change.problems, group, rising)


SHARES = (
    ("cut by the token budget", "truncated", WORSE),
    ("ended by an end token", "ended", BETTER),
    ("without an answer", "no_answer", WORSE),
    ("nearly repeat another answer to the problem", "duplicates", WORSE),
)
"""Shares of the sampled answers: what, its count in a problem's record, and what a rise is."""


def _shares(pairs: Sequence[Pair], unjudged: Change | None) -> Iterator[Measure]:
    for what, count, rising in SHARES:
        change = change_of(pairs, count, "samples")
        if change is not None:
            yield _changed(f"answers: {what}", change, "answers", rising)
    if unjudged is not None:
        yield _changed("answers: could not be judged", unjudged, "answers", WORSE)


def _budget(final: Record | None) -> float:
    budget = (final or {}).get("settings", {}).get("max_tokens")
    return float(budget) if is_number(budget) else 1.0


def _sizes(pairs: Sequence[Pair], budget: float) -> Iterator[Measure]:
    longer = _size(pairs, "mean_length", budget, "length of an answer", "tokens")
    if longer is not None:
        yield _judged(longer, lambda m: m.change.low > 0 and m.after > LONGER * m.before)
    surer = _size(pairs, "entropy", 1.0, "entropy, how undecided it is at a token", "nats")
    if surer is not None:
        yield _judged(surer, lambda m: m.change.high < 0 and m.after < SURER * m.before)
    kinds = _size(pairs, "strategies", 1.0, "distinct right ways to a problem", "strategies")
    if kinds is not None:
        yield _judged(kinds, lambda m: m.change.high < 0)


def _judged(measure: Measure, is_worse: Callable[[Measure], bool]) -> Measure:
    verdict = measure.verdict
    if verdict == "changed" and is_worse(measure):
        verdict = WORSE
    return replace(measure, verdict=verdict)


def _size(pairs: Sequence[Pair], name: str, most: float, what: str, unit: Unit) -> Measure | None:
    """A number of each problem before and after. most: the largest that it can be, if known."""
    rows = [(p.before.get(name), p.after.get(name)) for p in pairs]
    known = [(b, a) for b, a in rows if is_number(b) and is_number(a) and min(a, b) >= 0]
    if not known:
        return None
    before, after = np.array(known, np.float64).T
    scale = max(most, float(before.max()), float(after.max()), 1e-9)
    found = paired_difference(before / scale, after / scale)
    change = Estimate(found.mean * scale, found.low * scale, found.high * scale)
    verdict = verdict_of(change, len(known))
    verdict = "changed" if verdict in (BETTER, WORSE) else verdict
    means = float(before.mean()), float(after.mean())
    return Measure(what, unit, *means, change, len(known), verdict)
