"""Base against trained on the same held-out problems, as plain numbers with intervals.

The page, the terminal and `summary.json` all print this value, so that they cannot disagree.
Rates are shares in [0, 1]; a difference is after - before, paired by problem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.statistics import (
    Estimate,
    clustered_rate,
    paired_difference,
    pass_at_k,
    pass_at_k_curve,
)

Record = Mapping[str, Any]
Values = NDArray[np.float64]

BETTER, WORSE, NO_EVIDENCE = "better", "worse", "no evidence"


@dataclass(frozen=True)
class Side:
    """One policy on some problems.

    sampled: solve rate of sampled answers; greedy: share of problems solved by the likeliest
    answer, None where greedy decoding was not run. length: mean answer length in tokens.
    truncated: share of answers cut by the token budget. entropy: nats a token.
    """

    sampled: Estimate
    greedy: Estimate | None = None
    length: float | None = None
    truncated: float | None = None
    entropy: float | None = None


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
        return verdict_of(self.gain)

    @property
    def intervals_overlap(self) -> bool:
        before, after = self.before.sampled, self.after.sampled
        return before.low <= after.high and after.low <= before.high


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

    def to_dict(self) -> dict[str, Any]:
        """The same numbers for machines; what could not be measured is null."""
        verdicts = {"better": self.better, "worse": self.worse, "no_evidence": self.no_evidence}
        return {**finite(asdict(self)), "verdicts": verdicts}


def verdict_of(gain: Estimate) -> str:
    """`better` or `worse` where zero lies outside the interval, else `no evidence`."""
    if gain.low > 0:
        return BETTER
    return WORSE if gain.high < 0 else NO_EVIDENCE


def finite(value: Any) -> Any:
    """The value with every number that JSON cannot hold replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(item) for item in value]
    return value


@dataclass(frozen=True)
class Tally:
    """An evaluation of some problems as arrays [problems]; NaN where nothing was measured."""

    tries: Values
    right: Values
    greedy: Values
    length: Values
    truncated: Values
    entropy: float | None = None

    @property
    def rates(self) -> Values:
        return self.right / self.tries


def compare(base: Record, final: Record) -> Comparison:
    """Both evaluations over the problems that both have answered, matched by level and key."""
    before, after = _by_level(base), _by_level(final)
    shared = [level for level in before if level in after]
    pairs = [_matched(before[level], after[level]) for level in shared]
    labels = [str(before[level].get("label", f"level {level}")) for level in shared]
    rows = [
        _row(level, label, *pair)
        for level, label, pair in zip(shared, labels, pairs, strict=True)
        if pair[0].tries.size
    ]
    firsts, seconds = _pooled([pair[0] for pair in pairs]), _pooled([pair[1] for pair in pairs])
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
    found: list[tuple[int, str, int, Side]] = []
    for level, record in _by_level(evaluation).items():
        tally = _tally([p for p in record.get("problems", []) if _tries(p) > 0], record)
        label = str(record.get("label", f"level {level}"))
        found.append((level, label, int(tally.tries.size), _side(tally)))
    return found


def overall_side(evaluation: Record) -> Side:
    """Rates of a single evaluation over all its problems."""
    records = _by_level(evaluation).values()
    tallies = [_tally([p for p in r.get("problems", []) if _tries(p) > 0], r) for r in records]
    return _side(_pooled(tallies))


def _by_level(evaluation: Record) -> dict[int, Record]:
    levels: Sequence[Record] = evaluation.get("levels", [])
    return {int(record["level"]): record for record in levels}


def _count(evaluation: Record) -> int:
    return sum(len(record.get("problems", [])) for record in _by_level(evaluation).values())


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
    return _tally([p for p, _ in pairs], base), _tally([p for _, p in pairs], final)


def _tally(problems: Sequence[Record], level: Record) -> Tally:
    return Tally(
        tries=_column(problems, "tries"),
        right=_column(problems, "right"),
        greedy=_column(problems, "greedy_right"),
        length=_column(problems, "mean_length"),
        truncated=_column(problems, "truncated"),
        entropy=_number(level.get("entropy")),
    )


def _column(problems: Sequence[Record], name: str) -> Values:
    found = [problem.get(name) for problem in problems]
    return np.array([math.nan if value is None else float(value) for value in found], np.float64)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _pooled(tallies: Sequence[Tally]) -> Tally:
    """All problems of all levels; every problem has the same weight."""

    def joined(name: str) -> Values:
        return np.concatenate([np.zeros(0), *(getattr(tally, name) for tally in tallies)])

    weights = [tally.tries.size for tally in tallies if tally.entropy is not None]
    known = [tally.entropy for tally in tallies if tally.entropy is not None]
    entropy = float(np.average(known, weights=weights)) if sum(weights) else None
    names = ("tries", "right", "greedy", "length", "truncated")
    return Tally(**{name: joined(name) for name in names}, entropy=entropy)


def _row(level: int | None, label: str, first: Tally, second: Tally) -> Row:
    both = ~(np.isnan(first.greedy) | np.isnan(second.greedy))
    greedy = paired_difference(first.greedy[both], second.greedy[both]) if both.any() else None
    gain = paired_difference(first.rates, second.rates)
    size = int(first.tries.size)
    return Row(level, label, size, _side(first, both), _side(second, both), gain, greedy)


def _side(tally: Tally, kept: NDArray[np.bool_] | None = None) -> Side:
    known = ~np.isnan(tally.greedy) if kept is None else kept
    ones = np.ones(int(known.sum()))
    return Side(
        sampled=clustered_rate(tally.right, tally.tries),
        greedy=clustered_rate(tally.greedy[known], ones) if ones.size else None,
        length=_mean(tally.length, tally.tries),
        truncated=_mean(tally.truncated / tally.tries, tally.tries),
        entropy=tally.entropy,
    )


def _mean(values: Values, weights: Values) -> float | None:
    known = ~np.isnan(values)
    return float(np.average(values[known], weights=weights[known])) if known.any() else None


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
    ks = sorted({k for k in (2**power for power in range(20)) if k <= most} | {most})
    gains = [_pass_gain(first, second, fewest >= k, k) for k in ks]
    before = pass_at_k_curve(first.tries, first.right, ks)
    after = pass_at_k_curve(second.tries, second.right, ks)
    return Curves(tuple(ks), tuple(before), tuple(after), tuple(gains))


def _pass_gain(first: Tally, second: Tally, kept: NDArray[np.bool_], k: int) -> Estimate:
    def rates(tally: Tally) -> list[float]:
        counts = zip(tally.tries[kept], tally.right[kept], strict=True)
        return [pass_at_k(int(tries), int(right), k) for tries, right in counts]

    return paired_difference(rates(first), rates(second))
