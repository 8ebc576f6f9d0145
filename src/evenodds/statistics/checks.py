"""What is asked of the numbers that come in."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import UsageError

Values = NDArray[np.float64]


def counts_of(right: ArrayLike, tries: ArrayLike) -> tuple[Values, Values]:
    """Both as float64 [problems], without the problems that have no tries."""
    successes, trials = np.asarray(right, dtype=np.float64), np.asarray(tries, dtype=np.float64)
    if successes.shape != trials.shape or successes.ndim != 1:
        raise UsageError(
            f"each problem needs right answers and tries. Got {successes.shape}, {trials.shape}."
        )
    if bool(np.any(successes < 0) or np.any(successes > trials)):
        raise UsageError("a problem has more right answers than answers. Give 0 <= right <= tries.")
    kept = trials > 0
    return successes[kept], trials[kept]


def pairs_of(before: ArrayLike, after: ArrayLike) -> tuple[Values, Values]:
    """Both as float64 [problems]. Raises UsageError if the lengths differ."""
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise UsageError(
            f"a paired comparison needs the same problems on both sides. "
            f"Got {first.shape} and {second.shape}."
        )
    return first, second


def normal_quantile(confidence: float) -> float:
    """How many standard errors a two-sided interval of this confidence reaches to each side."""
    require_confidence(confidence)
    return NormalDist().inv_cdf((1 + confidence) / 2)


def require_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence lies between 0 and 1. Got {confidence}. Give 0.95, say.")


def require_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is a share. Got {value}. Give a number from 0 to 1.")


def require_shares(name: str, values: Values) -> None:
    """Raises UsageError unless all lie in [0, 1], a rounding error aside."""
    if values.size and not (values.min() >= -1e-9 and values.max() <= 1 + 1e-9):
        raise UsageError(
            f"{name} are shares. Got numbers from {values.min()} to {values.max()}. "
            "Give numbers from 0 to 1."
        )


def require_count(name: str, value: int, least: int) -> None:
    if not value >= least or value != int(value):  # NaN is none
        raise UsageError(f"{name} is a count. Got {value}. Give a whole number from {least} up.")
