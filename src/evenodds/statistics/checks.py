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


def normal_quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence lies between 0 and 1. Got {confidence}. Give 0.95, say.")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def require_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is a share. Got {value}. Give a number from 0 to 1.")


def require_count(name: str, value: int, least: int) -> None:
    if not value >= least or value != int(value):  # NaN is none
        raise UsageError(f"{name} is a count. Got {value}. Give a whole number from {least} up.")
