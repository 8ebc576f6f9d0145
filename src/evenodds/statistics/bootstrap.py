"""A bootstrap over problems, for means of anything that has a known range."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    low, high = bootstrap_ends(values, floor, ceiling, confidence)
    return float(low), float(high)


def bootstrap_ends(
    values: Values, floor: float, ceiling: float, confidence: float = 0.95
) -> tuple[Values, Values]:
    """The two ends of `bootstrap_interval`; values: [..., problems], at least one problem."""
    mean, problems = values.mean(-1), values.shape[-1]
    off = values - mean[..., None]
    deviation = np.abs(off).max(-1)
    doubts = np.stack([deviation, -deviation, 0 * deviation, 0 * deviation], -1)
    # each doubt weighs half a problem; around the mean, which is added again below
    pool = np.concatenate([off, off, doubts], -1)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(_means(pool, problems), tails, axis=0)
    unseen = wilson_interval(0, problems, confidence)[1]
    alike = deviation < 1e-12 * (ceiling - floor)
    low = np.where(alike, -unseen * (mean - floor), np.minimum(low, 0.0))
    high = np.where(alike, unseen * (ceiling - mean), np.maximum(high, 0.0))
    return np.maximum(floor, mean + low), np.minimum(ceiling, mean + high)


def _means(pool: Values, size: int) -> Values:
    """[RESAMPLES, ...] the means of `size` draws, with replacement, from the last axis."""
    width = pool.shape[-1]
    rows = max(1, CHUNK // width)
    parts = [(start, min(rows, RESAMPLES - start)) for start in range(0, RESAMPLES, rows)]
    return np.concatenate(
        [np.tensordot(_drawn(*part, width, size) / size, pool, (1, -1)) for part in parts]
    )


@lru_cache(maxsize=70)  # levels mostly have as many problems: 16,000 each have 65 parts of 2 MB
def _drawn(start: int, rows: int, width: int, size: int) -> NDArray[np.unsignedinteger[Any]]:
    """[rows, width] how often each was drawn, of `size` draws. Not to be written into."""
    drawn = np.random.default_rng([SEED, start]).integers(0, width, (rows, size))
    counts = np.array([np.bincount(row, minlength=width) for row in drawn])
    return counts.astype(np.uint8 if counts.max() < 256 else np.uint32)
