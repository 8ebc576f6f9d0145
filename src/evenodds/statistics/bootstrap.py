"""A bootstrap over problems, for means of anything that has a known range."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import Values, require_confidence
from evenodds.statistics.rates import wilson_interval

RESAMPLES = 4000
SEED = 20_240_601  # fixed: the same evidence gives the same interval on every day
CHUNK = 2_000_000  # resampled values held at once: 16 MB


def bootstrap_interval(
    values_by_problem: ArrayLike, floor: float, ceiling: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap of a mean over problems (Efron 1979), with some doubt.

    values_by_problem: [problems] in [floor, ceiling], the range that they might have had. The seed
    is fixed, so that it repeats exactly. For shares in [0, 1] take `mean_of_shares`, and
    `paired_difference` for two policies: they are right more often (docs/statistics.md).

    A plain bootstrap believes that what was not drawn cannot happen. So two problems are added to
    those that are drawn from: one at the mean, and one that is half the largest deviation above it
    and half that much below. Where all values are equal there is no deviation to scale by: then up
    to u of the problems not seen may lie anywhere in the range, u being Wilson's upper limit for
    none in that many problems.

    Raises UsageError if there are no values, or for values outside the range.
    """
    values = np.asarray(values_by_problem, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise UsageError(f"a bootstrap needs a list of values. Got shape {values.shape}.")
    if not floor < ceiling or not (values.min() >= floor and values.max() <= ceiling):
        raise UsageError(
            f"the values have to lie in their range. Got {values.min()} to {values.max()} "
            f"for [{floor}, {ceiling}]. Give the least and the largest that a value can be."
        )
    require_confidence(confidence)
    mean = float(values.mean())
    low, high = _ends(values, floor, ceiling, confidence)
    return max(floor, min(low, mean)), min(ceiling, max(high, mean))


def _ends(values: Values, floor: float, ceiling: float, confidence: float) -> tuple[float, float]:
    mean = float(values.mean())
    deviation = float(np.abs(values - mean).max())
    if deviation < 1e-12 * (ceiling - floor):
        unseen = wilson_interval(0, values.size, confidence)[1]
        return mean - unseen * (mean - floor), mean + unseen * (ceiling - mean)
    doubts = np.array([mean + deviation, mean - deviation, mean, mean])
    pool = np.concatenate([values, values, doubts])  # each doubt weighs half a problem
    drawn = _means(pool, values.size, np.random.default_rng(SEED))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _means(pool: Values, size: int, rng: np.random.Generator) -> Values:
    """[RESAMPLES] the means of `size` draws from the pool, with replacement."""
    rows = max(1, CHUNK // size)
    chunks = [min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows)]
    drawn = [pool[rng.integers(0, pool.size, (rows, size))].mean(axis=-1) for rows in chunks]
    return np.concatenate(drawn)
