"""Base against trained on the same held-out problems, as plain numbers with intervals.

The page, the terminal and `summary.json` all print this value, so that they cannot disagree.
Rates are shares in [0, 1]; a difference is after - before, paired by problem.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.evaluation import (
    Record,
    Side,
    Tally,
    Values,
    doubling,
    finite,
    judged_by_key,
    label_of,
    levels_of,
    names_of,
    pooled,
    side_of,
    tally_of,
)
from evenodds.report.measures import majorities, pass_rates
from evenodds.statistics import (
    CatchUp,
    Estimate,
    bootstrap_interval,
    catch_up,
    gained_minus_lost,
    holm,
    mcnemar,
    mean_of_shares,
    p_value,
    paired_difference,
    pass_at_k_curve,
)

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
    "verdict_by",
    "verdict_of",
]

BETTER, WORSE, NO_EVIDENCE = "better", "worse", "no evidence"
TOO_FEW = "too few problems"
ALPHA = 0.05  # of a verdict, for all levels together
FAR = 2048  # tries up to which it is asked where the base catches up, one by one
FEWEST = 20  # an interval over fewer problems is too rough for a verdict


@dataclass(frozen=True)
class Row:
    """One level, one source, or all (`level` is None): before, after, and the paired gains.

    length_gain: in tokens; None where the lengths or the budget of an answer are not known.
    p: of the gain, by the interval; adjusted: Holm's over the levels, for a verdict that knows how
    many are given at once.
    """

    level: int | None
    label: str
    problems: int
    before: Side
    after: Side
    gain: Estimate
    greedy_gain: Estimate | None
    length_gain: Estimate | None = None
    p: float = 1.0
    adjusted: float = 1.0

    @property
    def verdict(self) -> str:
        """By sampled answers: `better`, `worse`, `no evidence`, or `too few problems`."""
        return verdict_by(self.adjusted, self.gain, self.problems)


@dataclass(frozen=True)
class Coverage:
    """Problems by whether they were solved: before only, after only, both, neither.

    Only problems with as many judged answers before as after are counted: among more answers a
    right one is found more often, whatever became of the policy.
    p: McNemar's test of gained against lost, the mid-p-value. net: gained - lost as a share of all.
    """

    gained: int
    lost: int
    kept: int
    never: int
    p: float = 1.0
    net: Estimate = field(default_factory=lambda: Estimate(math.nan, -1.0, 1.0))

    @property
    def problems(self) -> int:
        return self.gained + self.lost + self.kept + self.never


@dataclass(frozen=True)
class Curves:
    """Unbiased pass@k, or maj@k, of both policies for each k, and the paired difference."""

    ks: tuple[int, ...]
    before: tuple[Estimate, ...]
    after: tuple[Estimate, ...]
    gain: tuple[Estimate, ...]


NO_CURVES = Curves((), (), (), ())


@dataclass(frozen=True)
class Comparison:
    """All that is known about what training changed. `unmatched`: problems that are not judged on
    both sides.

    coverage: by any right answer among the sampled ones; greedy_coverage: by the greedy one.
    majority: maj@k; empty where the records have no votes, as older ones. catch_up: the k at which
    pass@k of the base reaches that of the trained policy; None where that is not ahead at k = 1.
    sources: rows by where the problems come from, where there is more than one place. gained, lost:
    keys of the problems, in the order of the ladder.
    """

    overall: Row
    levels: tuple[Row, ...]
    curves: Curves
    coverage: Coverage
    unmatched: int = 0
    greedy_coverage: Coverage | None = None
    majority: Curves = NO_CURVES
    catch_up: CatchUp | None = None
    sources: tuple[Row, ...] = ()
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

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


def verdict_by(p: float, gain: Estimate, problems: int) -> str:
    """The verdict by a p-value that knows of the others given beside it; see `corrected`."""
    if problems < FEWEST:
        return TOO_FEW
    if not p < ALPHA:
        return NO_EVIDENCE
    return BETTER if gain.mean > 0 else WORSE


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
    matched = [_matched(before[level], after[level]) for level in shared]
    budget = budget_of((base, final))
    tallies = [
        (
            tally_of(before[level], [p for p, _ in pairs]),
            tally_of(after[level], [p for _, p in pairs]),
        )
        for level, pairs in zip(shared, matched, strict=True)
    ]
    rows = [
        _row(level, label_of(level, before[level]), *pair, budget)
        for level, pair in zip(shared, tallies, strict=True)
        if pair[0].tries.size
    ]
    firsts, seconds = pooled([pair[0] for pair in tallies]), pooled([pair[1] for pair in tallies])
    keys = [str(first["key"]) for first, _ in chain.from_iterable(matched)]
    solved, solves, fair = firsts.right > 0, seconds.right > 0, firsts.tries == seconds.tries
    gained, lost = fair & solves & ~solved, fair & solved & ~solves
    return Comparison(
        overall=_row(None, "all levels", firsts, seconds, budget),
        levels=tuple(corrected(rows)),
        curves=_curves(firsts, seconds),
        coverage=_coverage(solved[fair], solves[fair]),
        unmatched=len(names_of(base) | names_of(final)) - len(keys),
        greedy_coverage=_greedy_coverage(firsts, seconds),
        majority=_majority(firsts, seconds),
        catch_up=_catch_up(firsts, seconds),
        sources=tuple(_by_source(before, after, shared, matched, budget)),
        gained=tuple(key for key, is_new in zip(keys, gained, strict=True) if is_new),
        lost=tuple(key for key, is_gone in zip(keys, lost, strict=True) if is_gone),
    )


def corrected(rows: Sequence[Row]) -> list[Row]:
    """The rows with p-values that are read together (Holm 1979); those with too few stay out."""
    counted = [at for at, row in enumerate(rows) if row.problems >= FEWEST]
    adjusted = dict(zip(counted, holm([rows[at].p for at in counted]), strict=True))
    return [replace(row, adjusted=adjusted.get(at, row.p)) for at, row in enumerate(rows)]


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


Pairs = list[tuple[Record, Record]]


def _matched(base: Record, final: Record) -> Pairs:
    """The problems of a level that were judged on both sides, in the order of the base."""
    before, after = judged_by_key(base), judged_by_key(final)
    return [(problem, after[key]) for key, problem in before.items() if key in after]


def budget_of(records: Sequence[Record]) -> float | None:
    """The longest that an answer may be, in tokens; None where a record does not say."""
    most = [record.get("settings", {}).get("max_tokens") for record in records]
    known = [float(value) for value in most if isinstance(value, int | float) and value > 0]
    return max(known) if len(known) == len(records) else None


def _row(
    level: int | None, label: str, first: Tally, second: Tally, budget: float | None = None
) -> Row:
    both = ~(np.isnan(first.greedy) | np.isnan(second.greedy))
    greedy = paired_difference(first.greedy[both], second.greedy[both]) if both.any() else None
    rates = first.rates, second.rates
    p = p_value(lambda confidence: paired_difference(*rates, confidence)) if rates[0].size else 1.0
    return Row(
        level=level,
        label=label,
        problems=int(first.tries.size),
        before=side_of(first, both),
        after=side_of(second, both),
        gain=paired_difference(*rates),
        p=p,
        adjusted=p,
        greedy_gain=greedy,
        length_gain=longer(second.length - first.length, budget),
    )


def longer(values: Values, budget: float | None) -> Estimate | None:
    """The mean of differences in tokens; None where there is none, or the budget is not known."""
    known = values[~np.isnan(values)]
    if budget is None or not known.size or float(np.abs(known).max()) > budget:
        return None
    return Estimate(float(known.mean()), *bootstrap_interval(known, -budget, budget))


def _by_source(
    before: Mapping[int, Record],
    after: Mapping[int, Record],
    shared: Sequence[int],
    matched: Sequence[Pairs],
    budget: float | None,
) -> Iterator[Row]:
    """A row for each source, over all levels; none where there is only one."""
    names = [str(first.get("source") or "") for first, _ in chain.from_iterable(matched)]
    for name in dict.fromkeys(names) if len(set(names)) > 1 else ():
        sides: tuple[list[Tally], list[Tally]] = ([], [])
        for level, pairs in zip(shared, matched, strict=True):
            of = [pair for pair in pairs if str(pair[0].get("source") or "") == name]
            sides[0].append(tally_of(before[level], [first for first, _ in of]))
            sides[1].append(tally_of(after[level], [second for _, second in of]))
        yield _row(None, name or "unknown", pooled(sides[0]), pooled(sides[1]), budget)


def _coverage(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> Coverage:
    gained, lost = int((~before & after).sum()), int((before & ~after).sum())
    return Coverage(
        gained=gained,
        lost=lost,
        kept=int((before & after).sum()),
        never=int((~before & ~after).sum()),
        p=mcnemar(gained, lost),
        net=gained_minus_lost(gained, lost, before.size),
    )


def _greedy_coverage(first: Tally, second: Tally) -> Coverage | None:
    both = ~(np.isnan(first.greedy) | np.isnan(second.greedy))
    return _coverage(first.greedy[both] > 0, second.greedy[both] > 0) if both.any() else None


def _most(first: Tally, second: Tally) -> int:
    """The number of answers that both sides have for half of the problems; 0 without problems."""
    fewest = np.minimum(first.tries, second.tries)
    return int(np.median(fewest)) if fewest.size else 0


def _curves(first: Tally, second: Tally) -> Curves:
    """k doubles up to the number of answers that both sides have for half of the problems."""
    most = _most(first, second)
    if not most:
        return NO_CURVES
    ks = doubling(most)
    gains = [_pass_gain(first, second, k, k) for k in ks]
    before = pass_at_k_curve(first.tries, first.right, ks)
    after = pass_at_k_curve(second.tries, second.right, ks)
    return Curves(ks, tuple(before), tuple(after), tuple(gains))


def _majority(first: Tally, second: Tally) -> Curves:
    """maj@k for the same k; empty where a side has no votes."""
    most = _most(first, second)
    if not most or not any(first.votes) or not any(second.votes):
        return NO_CURVES
    ks = doubling(most)
    before: list[Estimate] = []
    after: list[Estimate] = []
    gains: list[Estimate] = []
    for k in ks:
        pair = majorities(first, k), majorities(second, k)
        both = ~np.isnan(pair[0] + pair[1])
        before.append(mean_of_shares(pair[0][both]))
        after.append(mean_of_shares(pair[1][both]))
        gains.append(paired_difference(pair[0][both], pair[1][both]))
    return Curves(ks, tuple(before), tuple(after), tuple(gains))


def _pass_gain(first: Tally, second: Tally, k: int, answers: int) -> Estimate:
    """Of pass@k, over the problems that have so many answers on both sides."""
    kept = np.minimum(first.tries, second.tries) >= answers
    return paired_difference(pass_rates(first, k)[kept], pass_rates(second, k)[kept])


def _catch_up(first: Tally, second: Tally) -> CatchUp | None:
    """Over the problems that have, on both sides, as many answers as half of them have."""
    most = _most(first, second)
    return catch_up([_pass_gain(first, second, k, most) for k in range(1, min(most, FAR) + 1)])
