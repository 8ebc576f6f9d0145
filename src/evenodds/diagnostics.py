"""What an update did, from plain arrays: ratio, clip shares by sign, KL, entropy, mismatch.

Pure functions over the answer tokens of one optimizer pass; the learner calls them once a step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _share(where: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
    return float(where[among].mean()) if among.any() else 0.0


def ratio_metrics(log_ratio: Array) -> dict[str, float]:
    """min, mean and max of rho over the tokens, with its 1 % and 99 % quantiles."""
    ratio = np.exp(log_ratio)
    low, high = np.quantile(ratio, [0.01, 0.99])
    return {
        "ratio/min": float(ratio.min()),
        "ratio/p01": float(low),
        "ratio/mean": float(ratio.mean()),
        "ratio/p99": float(high),
        "ratio/max": float(ratio.max()),
    }


def clip_metrics(clipped: NDArray[np.bool_], advantages: Array) -> dict[str, float]:
    """Share of tokens whose gradient the clip cut, apart for either sign of the advantage."""
    return {
        "clip_ratio/high_mean": _share(clipped, advantages > 0),
        "clip_ratio/low_mean": _share(clipped, advantages < 0),
        "clip_ratio/region_mean": float(clipped.mean()),
    }


def kl_metrics(log_ratio: Array) -> dict[str, float]:
    """KL(old || current) from tokens of the old policy: k1 = -l, k3 = e^l - 1 - l (Schulman)."""
    return {
        "kl_to_old/k1": float(-log_ratio.mean()),
        "kl_to_old/k3": float((np.expm1(log_ratio) - log_ratio).mean()),
    }


def gap_metrics(learner: Array, sampler: Array) -> dict[str, float]:
    """How far the learner's first pass is from what the sampler recorded, before any update."""
    gap = np.abs(learner - sampler)
    return {
        "sampling/sampling_logp_difference/mean": float(gap.mean()),
        "sampling/sampling_logp_difference/max": float(gap.max()),
    }
