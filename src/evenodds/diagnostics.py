"""What an update did, from plain arrays: ratio, clip shares by sign, KL, entropy, mismatch.

Pure functions over the n answer tokens of one optimizer pass; the learner calls them once a step.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

Array = NDArray[np.float64]
Values = Float[np.ndarray, " n"]

# Log ratios beyond which figures stay finite instead of true. The loss bounds its ratio at e^20
# already, for its gradient in float32; figures are float64, and are to show how far it really went.
FINITE = 80.0
QUARTERS = ("first", "second", "third", "fourth")


def _exp(values: Values) -> Values:
    return np.exp(np.minimum(values, FINITE))


def _share(where: Bool[np.ndarray, " n"], among: Bool[np.ndarray, " n"]) -> float:
    return float(where[among].mean()) if among.any() else 0.0


def ratio_metrics(log_ratio: Values) -> dict[str, float]:
    """min, mean and max of rho over the tokens, with its 1, 50 and 99 % quantiles."""
    ratio = _exp(log_ratio)
    low, middle, high = np.quantile(ratio, [0.01, 0.5, 0.99])
    return {
        "ratio/min": float(ratio.min()),
        "ratio/p01": float(low),
        "ratio/p50": float(middle),
        "ratio/mean": float(ratio.mean()),
        "ratio/p99": float(high),
        "ratio/max": float(ratio.max()),
    }


def clip_metrics(clipped: Bool[np.ndarray, " n"], advantages: Values) -> dict[str, float]:
    """Share of tokens whose gradient the clip cut, apart for either sign of the advantage."""
    return {
        "clip_ratio/high_mean": _share(clipped, advantages > 0),
        "clip_ratio/low_mean": _share(clipped, advantages < 0),
        "clip_ratio/region_mean": float(clipped.mean()),
    }


def kl_estimates(log_ratio: Values) -> dict[str, float]:
    """KL(p || q) from tokens that p drew, l = log q - log p: k1 = -l, k2 = l²/2, k3 = e^l - l - 1.

    k1 and k3 are unbiased; k2 is close to them where p is close to q. Source: Schulman.
    """
    return {
        "k1": float(-log_ratio.mean()),
        "k2": float(np.square(log_ratio).mean() / 2),
        "k3": float((np.expm1(np.minimum(log_ratio, FINITE)) - log_ratio).mean()),
    }


def kl_metrics(log_ratio: Values) -> dict[str, float]:
    """KL(old || current) from tokens of the old policy; log_ratio = log pi - log pi_old."""
    return {f"kl_to_old/{name}": value for name, value in kl_estimates(log_ratio).items()}


def reference_metrics(log_ratio: Values) -> dict[str, float]:
    """KL(current || reference); log_ratio = log pi_ref - log pi, of tokens that pi drew.

    `kl` is k3, under the name that TRL gives it.
    """
    found = kl_estimates(log_ratio)
    return {"kl": found["k3"], "kl/k1": found["k1"], "kl/k2": found["k2"]}


def entropy_metrics(entropy: Values, position: Int[np.ndarray, " n"]) -> dict[str, float]:
    """Mean entropy of the tokens' distributions, nats: of all, and by quarters of the longest.

    position: of the token in its answer, from 0. A quarter without tokens is missing.
    """
    quarter = 4 * position // (int(position.max()) + 1)
    parts = {
        f"entropy/{name}_quarter": float(entropy[quarter == number].mean())
        for number, name in enumerate(QUARTERS)
        if (quarter == number).any()
    }
    return {"entropy": float(entropy.mean()), **parts}


def gap_metrics(learner: Values, sampler: Values) -> dict[str, float]:
    """How far the learner's first pass is from what the sampler recorded, before any update."""
    gap = np.abs(learner - sampler)
    return {
        "sampling/sampling_logp_difference/mean": float(gap.mean()),
        "sampling/sampling_logp_difference/max": float(gap.max()),
    }


def correction_metrics(gap: Values, cap: float) -> dict[str, float]:
    """Weights w = pi_first / pi_sampler, gap = log w: their mean, and how many are capped.

    gap: of tokens, or of whole answers where that is what the correction weighs.
    """
    weight = _exp(gap)
    return {
        "sampling/importance_sampling_ratio/mean": float(weight.mean()),
        "sampling/importance_sampling_ratio/max": float(weight.max()),
        "sampling/importance_sampling_ratio/capped": float((weight > cap).mean()),
    }
