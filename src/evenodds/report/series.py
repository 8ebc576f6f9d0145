"""Long series made drawable: what is missing left out, smoothed, and thinned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 150  # more cannot be told apart in a plot of this size
SMOOTH_FROM = 25  # shorter series are shown as they are
LARGEST = 1e30  # a larger value measures nothing and would overflow in a plot


@dataclass(frozen=True)
class Series:
    """Finite values at rising places: xs, ys [points]."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def __bool__(self) -> bool:
        return bool(self.xs)

    @property
    def is_long(self) -> bool:
        return len(self.xs) >= SMOOTH_FROM


def of_metric(metrics: Sequence[Mapping[str, Any]], key: str) -> Series:
    """A metric over the steps that have it."""
    xs: list[float] = []
    ys: list[float] = []
    for row in metrics:  # of which there may be a hundred thousand
        if is_number(y := row.get(key)) and is_number(x := row.get("step")):
            xs.append(float(x))
            ys.append(float(y))
    return Series(tuple(xs), tuple(ys))


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value can be drawn and reckoned with: finite, and not absurdly large."""
    if type(value) in (float, int):  # nearly all are, and this is asked a million times
        return -LARGEST <= value <= LARGEST
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -LARGEST <= value <= LARGEST


def taught(row: Mapping[str, Any]) -> float | None:
    """The share of a step's groups whose rewards differ; where it does not say, of mixed ones.

    With partial credit the two are not the same: a group that is all wrong may teach.
    """
    without, mixed = row.get("frac_reward_zero_std"), row.get("groups/mixed")
    if is_number(without):
        return 1 - without
    return mixed if is_number(mixed) else None


def smoothed(series: Series) -> Series:
    """Running mean over a fifteenth of the series, centred so that it does not lag behind.

    At the ends the half of the window that exists is used: a single noisy last step would
    otherwise look like a turn.
    """
    values = np.array(series.ys)
    half = max(2, len(values) // 30)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    first, last = np.maximum(0, places - half), np.minimum(len(values), places + half + 1)
    means = (sums[last] - sums[first]) / (last - first)
    return Series(series.xs, tuple(means.tolist()))


def thinned(series: Series, most: int = MOST_POINTS) -> Series:
    """At most `most` points; of each stretch the one farthest from its mean, so spikes stay."""
    if len(series.xs) <= most:
        return series
    values = np.array(series.ys)
    inner = np.array_split(np.arange(1, len(values) - 1), most - 2)
    kept = [0, *(_farthest(values, part) for part in inner if part.size), len(values) - 1]
    return Series(tuple(series.xs[i] for i in kept), tuple(series.ys[i] for i in kept))


def _farthest(values: NDArray[np.float64], part: NDArray[np.int64]) -> int:
    return int(part[np.argmax(np.abs(values[part] - values[part].mean()))])


def spread(count: int, most: int) -> list[int]:
    """At most `most` places out of `count`, evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return [round(index * (count - 1) / (most - 1)) for index in range(most)]
