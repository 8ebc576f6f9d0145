"""The pattern over seeds: what rose, what fell, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from evenodds.lab.toy.experiment import SIDES, ToyResult
from evenodds.lab.toy.measure import METRICS
from evenodds.statistics import Estimate, paired_difference
from evenodds.statistics.quantiles import student_quantile

RISES = ("accuracy", "mean reward")
FALLS = (
    ("held-out", "accuracy"),
    ("held-out", "pass@4"),
    ("train", "token entropy"),
    ("held-out", "token entropy"),
)
"""What falls in the published table while the mean rises, and must not fall in the other setting.
Of training prompts pass@4 fell there too; here it is shown, but not asked for."""

TOLERANCE = 0.05
"""A fall counts from this share of the base's own value on."""


@dataclass(frozen=True)
class Change:
    """A metric before and after, as means over seeds.

    seeds: the mean change with a 95 % interval over seeds (Student's t; unknown for one seed).
    problems: the same over the problems of all seeds together, paired by problem, where the metric
    is counted by problem.
    """

    side: str
    metric: str
    before: float
    after: float
    seeds: Estimate
    problems: Estimate | None


@dataclass(frozen=True)
class Check:
    """One part of the pattern, in words, and whether it holds."""

    words: str
    change: Estimate
    holds: bool


def over_seeds(values: ArrayLike) -> Estimate:
    """Mean with a 95 % interval of Student's t; all of the line where there is one seed."""
    found = np.asarray(values, dtype=np.float64)
    mean, size = float(found.mean()), found.size
    if size < 2:
        return Estimate(mean, -math.inf, math.inf)
    quantile = float(student_quantile(np.array(size - 1.0)))
    half = quantile * float(found.std(ddof=1)) / math.sqrt(size)
    return Estimate(mean, mean - half, mean + half)


def change_of(results: Sequence[ToyResult], side: str, metric: str) -> Change:
    """One metric on one side, over the results of one setting."""
    before = [result.before[side][metric] for result in results]
    after = [result.after[side][metric] for result in results]
    rates = [(r.before[side].rates.get(metric), r.after[side].rates.get(metric)) for r in results]
    pairs = [(old, new) for old, new in rates if old is not None and new is not None]
    problems = None
    if pairs:
        problems = paired_difference(
            [*chain.from_iterable(old for old, _ in pairs)],
            [*chain.from_iterable(new for _, new in pairs)],
        )
    seeds = over_seeds(np.subtract(after, before))
    return Change(side, metric, float(np.mean(before)), float(np.mean(after)), seeds, problems)


def changes(results: Sequence[ToyResult]) -> list[Change]:
    """Every metric on both sides."""
    return [change_of(results, side, metric) for side in SIDES for metric in METRICS]


def shown(narrow: Sequence[ToyResult]) -> list[Check]:
    """Whether the mean rises while the rest falls; an interval over seeds that holds 0 says no."""
    rises = [change_of(narrow, "train", metric) for metric in RISES]
    falls = [change_of(narrow, side, metric) for side, metric in FALLS]
    return [
        *(Check(f"train {c.metric} rises", c.seeds, c.seeds.low > 0) for c in rises),
        *(Check(f"{c.side} {c.metric} falls", c.seeds, c.seeds.high < 0) for c in falls),
    ]


def avoided(narrow: Sequence[ToyResult], kept: Sequence[ToyResult]) -> list[Check]:
    """Whether the mean rises and the rest stays: the mean change is no fall beyond `TOLERANCE` of
    the base's value, and the same seeds keep more than they do in the narrow setting."""
    rises = [change_of(kept, "train", metric) for metric in RISES]
    found = [Check(f"train {c.metric} rises", c.seeds, c.seeds.low > 0) for c in rises]
    for side, metric in FALLS:
        here = change_of(kept, side, metric)
        stays = here.seeds.mean > -TOLERANCE * here.before
        found.append(Check(f"{side} {metric} stays", here.seeds, stays))
        pairs = zip(kept, narrow, strict=True)
        gaps = over_seeds([a.change(side, metric) - b.change(side, metric) for a, b in pairs])
        found.append(Check("  and more of it than in narrow", gaps, gaps.low > 0))
    return found
