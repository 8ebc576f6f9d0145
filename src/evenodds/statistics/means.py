"""Means over problems, by a bootstrap that has some doubt."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import Values
from evenodds.statistics.estimate import Estimate
from evenodds.statistics.rates import wilson_interval

Statistic = Callable[[Values], Values]

RESAMPLES = 4000
SEED = 20_240_601  # fixed: the same evidence gives the same interval on every day
CHUNK = 2_000_000  # resampled values held at once: 16 MB


def bootstrap_interval(
    values_by_problem: ArrayLike,
    statistic: Statistic | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[float, float]:
    """Percentile bootstrap over problems (Efron 1979); the seed is fixed, so it repeats exactly.

    values_by_problem: [problems]. statistic: reduces the last axis, [resamples, problems] to
    [resamples]; the mean by default. Values that all agree give an interval of zero width, for the
    range that they might have had is not known here: `paired_difference` and `pass_at_k_curve`
    know theirs.

    Raises UsageError if there are no values.
    """
    values = np.asarray(values_by_problem, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise UsageError(f"a bootstrap needs a list of values. Got shape {values.shape}.")
    reduce = _mean_of_last_axis if statistic is None else statistic
    drawn = _resample(values, values.size, reduce, resamples, np.random.default_rng(seed))
    return _percentiles(drawn, confidence)


def paired_difference(before: ArrayLike, after: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Mean of after - before over the same problems, by a bootstrap that keeps the pairs.

    before, after: [problems] solve rates in [0, 1], in the same order.
    Two pseudo-problems keep rare changes from looking impossible. Where all problems changed alike,
    as many unseen ones may have changed otherwise as Wilson's interval allows.
    Without problems the mean is NaN and the interval [-1, 1].

    Raises UsageError if the lengths differ.
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise UsageError(
            f"a paired comparison needs the same problems on both sides. "
            f"Got {first.shape} and {second.shape}."
        )
    return bounded_mean(second - first, -1.0, 1.0, confidence)


def bounded_mean(values: Values, floor: float, ceiling: float, confidence: float) -> Estimate:
    if not values.size:
        return Estimate(math.nan, floor, ceiling)
    mean = float(values.mean())
    low, high = _ends(values, floor, ceiling, confidence)
    return Estimate(mean, max(floor, min(low, mean)), min(ceiling, max(high, mean)))


def _ends(values: Values, floor: float, ceiling: float, confidence: float) -> tuple[float, float]:
    """Interval of a mean of values in [floor, ceiling], by a bootstrap that has some doubt.

    A plain bootstrap believes that what was not drawn cannot happen. So two problems are added: one
    at the mean, and one that is half the largest deviation above it and half that much below. For
    pairs of right and wrong answers they are the pseudo-pairs of Agresti and Min (2005, Statistics
    in Medicine 24), scaled to the data for finer rates. The mean stays what it was.

    Where all values are equal there is no deviation to scale by: then up to u of the problems not
    seen may lie anywhere in the range, u being Wilson's upper limit for none in that many problems.
    """
    mean = float(values.mean())
    deviation = float(np.abs(values - mean).max())
    if deviation < 1e-12:
        unseen = wilson_interval(0, values.size, confidence)[1]
        return mean - unseen * (mean - floor), mean + unseen * (ceiling - mean)
    doubts = np.array([mean + deviation, mean - deviation, mean, mean])
    pool = np.concatenate([values, values, doubts])  # each doubt weighs half a problem
    rng = np.random.default_rng(SEED)
    drawn = _resample(pool, values.size, _mean_of_last_axis, RESAMPLES, rng)
    return _percentiles(drawn, confidence)


def _percentiles(drawn: Values, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _mean_of_last_axis(values: Values) -> Values:
    return values.mean(axis=-1)


def _resample(
    pool: Values, size: int, reduce: Statistic, count: int, rng: np.random.Generator
) -> Values:
    """[count] the statistic of `size` draws from the pool, with replacement."""
    rows = max(1, CHUNK // size)
    chunks = [min(rows, count - start) for start in range(0, count, rows)]
    drawn = [reduce(pool[rng.integers(0, pool.size, (rows, size))]) for rows in chunks]
    return np.concatenate(drawn)
