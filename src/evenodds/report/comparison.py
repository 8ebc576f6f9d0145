"""Base against trained on the same held-out problems, as plain numbers with intervals.

The page, the terminal and `summary.json` all print this value, so that they cannot disagree.
Rates are shares in [0, 1]; a difference is after - before, paired by problem.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.evaluation import (
    Record,
    Side,
    Tally,
    doubling,
    finite,
    label_of,
    levels_of,
    pooled,
    side_of,
    tally_of,
)
from evenodds.statistics import Estimate, paired_difference, pass_at_k, pass_at_k_curve

__all__ = [
    "BETTER",
    "FEWEST",
    "NO_EVIDENCE",
    "TOO_FEW",
    "WORSE",
    "Comparison",
    "Coverage",
    "Curves",
    "Record",
    "Row",
    "Side",
    "compare",
    "finite",
    "overall_side",
    "sides",
    "verdict_of",
]

BETTER, WORSE, NO_EVIDENCE = "better", "worse", "no evidence"
TOO_FEW = "too few problems"
FEWEST = 20  # an interval over fewer problems is too rough for a verdict


@dataclass(frozen=True)
class Row:
    """One level, or the whole ladder (`level` is None): before, after, and the paired gains."""

    level: int | None
    label: str
    problems: int
    before: Side
    after: Side
    gain: Estimate
    greedy_gain: Estimate | None

    @property
    def verdict(self) -> str:
        """By sampled answers: whether the interval of the paired difference leaves out zero."""
        return verdict_of(self.gain, self.problems)


@dataclass(frozen=True)
class Coverage:
    """Problems by whether any sampled answer was right: before only, after only, both, neither."""

    gained: int
    lost: int
    kept: int
    never: int


@dataclass(frozen=True)
class Curves:
    """Unbiased pass@k of both policies for each k, and the paired difference."""

    ks: tuple[int, ...]
    before: tuple[Estimate, ...]
    after: tuple[Estimate, ...]
    gain: tuple[Estimate, ...]


@dataclass(frozen=True)
class Comparison:
    """All that is known about what training changed. `unmatched`: problems on one side only."""

    overall: Row
    levels: tuple[Row, ...]
    curves: Curves
    coverage: Coverage
    unmatched: int = 0

    @property
    def rows(self) -> tuple[Row, ...]:
        """What a table shows: each level and the whole ladder, which a single level is already."""
        return self.levels if len(self.levels) == 1 else (*self.levels, self.overall)

    def labels(self, verdict: str) -> list[str]:
        """Labels of the levels with this verdict, in the order of the ladder."""
        return [row.label for row in self.levels if row.verdict == verdict]

    @property
    def better(self) -> list[str]:
        return self.labels(BETTER)

    @property
    def worse(self) -> list[str]:
        return self.labels(WORSE)

    @property
    def no_evidence(self) -> list[str]:
        return self.labels(NO_EVIDENCE)

    @property
    def too_few(self) -> list[str]:
        return self.labels(TOO_FEW)

    def to_dict(self) -> dict[str, Any]:
        """The same numbers for machines; what could not be measured is null."""
        names = ("better", "worse", "no_evidence", "too_few")
        verdicts = {name: getattr(self, name) for name in names}
        return {**finite(asdict(self)), "verdicts": verdicts}


def verdict_of(gain: Estimate, problems: int = FEWEST) -> str:
    """`better` or `worse` where zero lies outside the interval, else `no evidence`.

    problems: how many the gain is a mean of; `too few problems` below `FEWEST`.
    """
    if problems < FEWEST:
        return TOO_FEW
    if gain.low > 0:
        return BETTER
    return WORSE if gain.high < 0 else NO_EVIDENCE


def compare(base: Record, final: Record) -> Comparison:
    """Both evaluations over the problems that both have answered, matched by level and key."""
    before, after = levels_of(base), levels_of(final)
    shared = [level for level in before if level in after]
    pairs = [_matched(before[level], after[level]) for level in shared]
    labels = [label_of(level, before[level]) for level in shared]
    rows = [
        _row(level, label, *pair)
        for level, label, pair in zip(shared, labels, pairs, strict=True)
        if pair[0].tries.size
    ]
    firsts, seconds = pooled([pair[0] for pair in pairs]), pooled([pair[1] for pair in pairs])
    total = _count(base) + _count(final)
    return Comparison(
        overall=_row(None, "all levels", firsts, seconds),
        levels=tuple(rows),
        curves=_curves(firsts, seconds),
        coverage=_coverage(firsts.right > 0, seconds.right > 0),
        unmatched=total - 2 * firsts.tries.size,
    )


def sides(evaluation: Record) -> list[tuple[int, str, int, Side]]:
    """Level, label, problems and rates of a single evaluation, for a run without a second one."""
    found = [(number, level, tally_of(level)) for number, level in levels_of(evaluation).items()]
    return [
        (number, label_of(number, level), int((tally.tries > 0).sum()), side_of(tally))
        for number, level, tally in found
    ]


def overall_side(evaluation: Record) -> Side:
    """Rates of a single evaluation over all its problems."""
    return side_of(pooled([tally_of(level) for level in levels_of(evaluation).values()]))


def _count(evaluation: Record) -> int:
    return sum(len(record.get("problems", [])) for record in levels_of(evaluation).values())


def _tries(problem: Record) -> int:
    return int(problem.get("tries") or 0)


def _matched(base: Record, final: Record) -> tuple[Tally, Tally]:
    """Tallies over the problems judged on both sides, in the same order."""
    after = {str(p["key"]): p for p in final.get("problems", []) if _tries(p) > 0}
    pairs = [
        (p, after[str(p["key"])])
        for p in base.get("problems", [])
        if _tries(p) > 0 and str(p["key"]) in after
    ]
    return tally_of(base, [p for p, _ in pairs]), tally_of(final, [p for _, p in pairs])


def _row(level: int | None, label: str, first: Tally, second: Tally) -> Row:
    both = ~(np.isnan(first.greedy) | np.isnan(second.greedy))
    greedy = paired_difference(first.greedy[both], second.greedy[both]) if both.any() else None
    gain = paired_difference(first.rates, second.rates)
    size = int(first.tries.size)
    return Row(level, label, size, side_of(first, both), side_of(second, both), gain, greedy)


def _coverage(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> Coverage:
    return Coverage(
        gained=int((~before & after).sum()),
        lost=int((before & ~after).sum()),
        kept=int((before & after).sum()),
        never=int((~before & ~after).sum()),
    )


def _curves(first: Tally, second: Tally) -> Curves:
    """k doubles up to the number of answers that both sides have for half of the problems."""
    fewest = np.minimum(first.tries, second.tries)
    if not fewest.size:
        return Curves((), (), (), ())
    most = int(np.median(fewest))
    ks = doubling(most)
    gains = [_pass_gain(first, second, fewest >= k, k) for k in ks]
    before = pass_at_k_curve(first.tries, first.right, ks)
    after = pass_at_k_curve(second.tries, second.right, ks)
    return Curves(ks, tuple(before), tuple(after), tuple(gains))


def _pass_gain(first: Tally, second: Tally, kept: NDArray[np.bool_], k: int) -> Estimate:
    def rates(tally: Tally) -> list[float]:
        counts = zip(tally.tries[kept], tally.right[kept], strict=True)
        return [pass_at_k(int(tries), int(right), k) for tries, right in counts]

    return paired_difference(rates(first), rates(second))
