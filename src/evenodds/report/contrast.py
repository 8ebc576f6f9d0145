"""Two arms on the same problems: each a policy, or several trainings of one kind with own seeds.

Every difference is second - first, paired by problem, with an interval that knows of problems and,
where an arm has several seeds, of seeds. Verdicts are corrected for how many of them are given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, cast

import numpy as np

from evenodds.evaluation import (
    Record,
    Tally,
    Values,
    doubling,
    finite,
    judged_by_key,
    label_of,
    levels_of,
    names_of,
    pooled,
    tally_of,
)
from evenodds.report.comparison import FEWEST, Comparison, budget_of, compare, longer, verdict_by
from evenodds.report.measures import majorities, pass_rates
from evenodds.statistics import CatchUp, Estimate, catch_up, holm, p_value, pooled_difference

Shares = Callable[[Tally], Values]
Arms = tuple[Sequence[Tally], Sequence[Tally]]


@dataclass(frozen=True)
class Arm:
    """One side. records: an evaluation for each training seed; one for a policy as it is.

    is_trained: another seed would have made another one; not so a base. random_reward: its training
    was paid at random, so that what it gained is not the reward's.
    """

    name: str
    records: tuple[Record, ...]
    is_trained: bool = True
    random_reward: bool = False


@dataclass(frozen=True)
class Line:
    """One measure at one level, or over all (`level` is None).

    before, after: means of the arms. p: goes with the interval of the gain; NaN where nothing was
    compared. adjusted: Holm's, over the family that the line belongs to; p itself outside of one.
    """

    level: int | None
    label: str
    problems: int
    before: float
    after: float
    gain: Estimate
    p: float
    adjusted: float

    @property
    def verdict(self) -> str:
        return verdict_by(self.adjusted, self.gain, self.problems)


@dataclass(frozen=True)
class Contrast:
    """The second arm against the first.

    overall: pass@1 over all levels; measures: all else over all levels. By level: levels is pass@1;
    levels_at_k and levels_agreed are pass@k and maj@k at `k`, the largest that half of the problems
    have answers for; levels_greedy is the likeliest answer. Only pass@1 has verdicts.
    length, lengths: mean tokens of an answer on each side, over all and by level; length_gain and
    length_gains: the differences, None where no length or no budget is known. problems: matched
    ones; unmatched: those that not all evaluations have judged. catch_up: the k at which
    the first arm reaches the second, where that is ahead. pair: the comparison of the two
    evaluations, where each arm has one: which problems were gained and which were lost. control:
    pass@1 on the task outside of what was learned, where all evaluations have the same one.
    """

    first: str
    second: str
    seeds: tuple[int, int]
    problems: int
    unmatched: int
    k: int
    overall: Line
    levels: tuple[Line, ...]
    levels_at_k: tuple[Line, ...]
    levels_agreed: tuple[Line, ...]
    levels_greedy: tuple[Line, ...]
    lengths: tuple[tuple[float | None, float | None], ...]
    measures: tuple[Line, ...]
    catch_up: CatchUp | None
    length: tuple[float | None, float | None]
    length_gain: Estimate | None = None
    length_gains: tuple[Estimate | None, ...] = ()
    pair: Comparison | None = None
    control: Line | None = None

    def labels(self, verdict: str) -> list[str]:
        """Labels of the levels with this verdict, in the order of the ladder."""
        return [line.label for line in self.levels if line.verdict == verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; what could not be measured is null."""
        found = asdict(self)
        found["pair"] = self.pair and self.pair.to_dict()
        found["overall"]["verdict"] = self.overall.verdict
        for row, line in zip(found["levels"], self.levels, strict=True):
            row["verdict"] = line.verdict
        return finite(found)


def contrasts(arms: Sequence[Arm]) -> list[Contrast]:
    """Each arm against the first, with verdicts corrected for their number (Holm 1979).

    Two families: the verdicts over all levels, one for each arm, and those by level of all arms.
    """
    found = [contrast(arms[0], arm) for arm in arms[1:]]
    overall = holm([_known(one.overall.p) for one in found])
    lines = [line for one in found for line in one.levels]
    counted = [line for line in lines if line.problems >= FEWEST]
    by_level = dict(zip(map(id, counted), holm([_known(line.p) for line in counted]), strict=True))

    def read(line: Line) -> Line:
        return replace(line, adjusted=by_level.get(id(line), line.p))

    return [
        replace(
            one,
            overall=replace(one.overall, adjusted=adjusted),
            levels=tuple(map(read, one.levels)),
        )
        for one, adjusted in zip(found, overall, strict=True)
    ]


def contrast(first: Arm, second: Arm) -> Contrast:
    """One arm against another, on the problems that all of their evaluations have judged."""
    sides = _sides(first.records, second.records)
    labels = {number: label_of(number, level) for number, level in _levels(first).items()}
    whole = _whole(sides)
    k = _most(whole)
    count = sum(len(pair[0][0].tries) for pair in sides.values())
    budget = budget_of((*first.records, *second.records))
    return Contrast(
        first=first.name,
        second=second.name,
        seeds=(len(first.records), len(second.records)),
        problems=count,
        unmatched=len(set().union(*map(names_of, (*first.records, *second.records)))) - count,
        k=k,
        overall=_line("all levels", whole, _rates),
        levels=_by_level(labels, sides, _rates),
        levels_at_k=_by_level(labels, sides, _pass(k)),
        levels_agreed=_by_level(labels, sides, _maj(k)),
        levels_greedy=_by_level(labels, sides, _greedy),
        lengths=tuple((_length(arms[0]), _length(arms[1])) for arms in sides.values()),
        measures=tuple(_measures(whole, k)),
        catch_up=_catch_up(whole, k),
        length=(_length(whole[0]), _length(whole[1])),
        length_gain=_longer(whole, budget),
        length_gains=tuple(_longer(arms, budget) for arms in sides.values()),
        pair=_pair(first, second),
        control=_control(first, second),
    )


def _sides(first: Sequence[Record], second: Sequence[Record]) -> dict[int, Arms]:
    """By level, a tally a record on each side, over the problems that all have judged."""
    matched = _matched([*first, *second])
    return {n: (found[: len(first)], found[len(first) :]) for n, found in matched.items()}


def _whole(sides: Mapping[int, Arms]) -> Arms:
    """All levels of each record together."""
    firsts, seconds = (zip(*(pair[at] for pair in sides.values()), strict=True) for at in (0, 1))
    return [pooled(seed) for seed in firsts], [pooled(seed) for seed in seconds]


def _control(first: Arm, second: Arm) -> Line | None:
    """The control task over all its levels; None unless all were asked the same one."""
    sides = [
        [one["control"] for one in arm.records if one.get("control")] for arm in (first, second)
    ]
    records: list[Record] = [*sides[0], *sides[1]]
    if len(records) < len(first.records) + len(second.records):
        return None
    if any(unlike(records[0], other) for other in records):
        return None
    label = str(records[0].get("task") or "control")
    line = _line(label, _whole(_sides(sides[0], sides[1])), _rates)
    return line if line.problems else None


def _pair(first: Arm, second: Arm) -> Comparison | None:
    if len(first.records) != 1 or len(second.records) != 1:
        return None
    return compare(first.records[0], second.records[0])


def unlike(first: Record, second: Record) -> str:
    """How two evaluations were made otherwise, in words; empty where they can be compared.

    The number of problems and the levels may differ: problems are matched.
    """
    before, after = (_how(record) for record in (first, second))
    shared = [name for name in before if name in after and before[name] != after[name]]
    return ", ".join(f"{name} ({before[name]} and {after[name]})" for name in shared)


def _how(record: Record) -> dict[str, Any]:
    """Task, verifier and settings as far as the record has them; older ones have fewer."""
    settings = dict(record.get("settings") or {})
    for name in ("problems", "levels", "greedy"):
        settings.pop(name, None)
    named = {name: record[name] for name in ("task", "verifier") if record.get(name)}
    return named | {name: _plain(value) for name, value in settings.items() if value is not None}


def _plain(value: Any) -> Any:
    """A list for a tuple: JSON does not tell them apart."""
    return [*cast(tuple[Any, ...], value)] if isinstance(value, tuple) else value


def _levels(arm: Arm) -> dict[int, Record]:
    return levels_of(arm.records[0])


def _known(p: float) -> float:
    return 1.0 if math.isnan(p) else p


def _matched(records: Sequence[Record]) -> dict[int, list[Tally]]:
    """By level, a tally a record over the problems that all of them have judged, in one order."""
    ladders = [levels_of(record) for record in records]
    found: dict[int, list[Tally]] = {}
    for number in ladders[0]:
        if not all(number in ladder for ladder in ladders):
            continue
        rows = [judged_by_key(ladder[number]) for ladder in ladders]
        keys = [key for key in rows[0] if all(key in row for row in rows)]
        if keys:
            pairs = zip(ladders, rows, strict=True)
            found[number] = [
                tally_of(ladder[number], [row[key] for key in keys]) for ladder, row in pairs
            ]
    return found


def _most(arms: Arms) -> int:
    """The number of answers that all have for half of the problems."""
    tries = [tally.tries for tally in chain(*arms)]
    fewest = np.min(tries, axis=0) if tries else np.zeros(0)
    return int(np.median(fewest)) if fewest.size else 0


def _rates(tally: Tally) -> Values:
    return tally.rates


def _pass(k: int) -> Shares:
    return lambda tally: pass_rates(tally, k)


def _maj(k: int) -> Shares:
    return lambda tally: majorities(tally, k)


def _greedy(tally: Tally) -> Values:
    return tally.greedy


def _tables(arms: Arms, shares: Shares) -> tuple[Values, Values]:
    """[seeds, problems] on each side, over the problems where the measure is known everywhere."""
    first, second = (np.array([shares(tally) for tally in side]) for side in arms)
    if not first.size or not second.size:
        return np.zeros((1, 0)), np.zeros((1, 0))
    known = ~(np.isnan(first).any(0) | np.isnan(second).any(0))
    return first[:, known], second[:, known]


def _line(label: str, arms: Arms, shares: Shares, level: int | None = None) -> Line:
    first, second = _tables(arms, shares)
    problems = first.shape[1]
    gain = pooled_difference(first, second)
    if not problems:
        return Line(level, label, 0, math.nan, math.nan, gain, math.nan, math.nan)
    p = p_value(lambda confidence: pooled_difference(first, second, confidence))
    means = float(first.mean()), float(second.mean())
    return Line(level, label, problems, *means, gain, p, p)


def _by_level(
    labels: Mapping[int, str], sides: Mapping[int, Arms], shares: Shares
) -> tuple[Line, ...]:
    return tuple(_line(labels[n], pair, shares, n) for n, pair in sides.items())


def _measures(arms: Arms, k: int) -> list[Line]:
    """pass@k, maj@k and greedy over all levels, as far as they were measured."""
    ks = doubling(k)[1:] if k else ()
    lines = [_line(f"pass@{size}", arms, _pass(size)) for size in ks]
    lines += [_line(f"maj@{size}", arms, _maj(size)) for size in ks]
    lines.append(_line("greedy", arms, _greedy))
    return [line for line in lines if line.problems]


def _catch_up(arms: Arms, k: int) -> CatchUp | None:
    """Of the second arm's lead, over the problems that have k answers everywhere."""
    tallies = [*chain(*arms)]
    enough = np.array([tally.tries >= k for tally in tallies]).all(0)
    if not k or not enough.any():
        return None

    def gain(size: int) -> Estimate:
        first, second = (
            np.array([pass_rates(tally, size)[enough] for tally in side]) for side in arms
        )
        return pooled_difference(first, second)

    return catch_up([gain(size) for size in range(1, k + 1)])


def _length(tallies: Sequence[Tally]) -> float | None:
    """Mean tokens of an answer over seeds and problems."""
    found = [tally.length[~np.isnan(tally.length)] for tally in tallies]
    known = np.concatenate([np.zeros(0), *found])
    return float(known.mean()) if known.size else None


def _longer(arms: Arms, budget: float | None) -> Estimate | None:
    """second - first in tokens. One evaluation each: as in the report of a run.

    Several seeds: as shares of the range that was seen, which are pooled as rates are; the doubt is
    then in proportion to what was seen, as that of a bootstrap is. Where all lengths are one, the
    range is all that an answer may have.
    """
    first, second = _tables(arms, lambda tally: tally.length)
    if len(first) == len(second) == 1:
        return longer(second[0] - first[0], budget)
    every = np.concatenate([first, second])
    if budget is None or not every.size or every.max() > budget:
        return None
    low, high = float(every.min()), float(every.max())
    if high - low < 1e-9 * budget:
        low, high = 0.0, budget
    size = high - low
    gain = pooled_difference((first - low) / size, (second - low) / size)
    return Estimate(size * gain.mean, size * gain.low, size * gain.high)
