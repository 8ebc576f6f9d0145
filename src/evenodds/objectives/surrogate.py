"""What is maximised on each token, given how far the policy moved there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

FAR = 20.0  # log ratio beyond which exp would leave float32, and NaN follow; e^20 is 5e8

Surrogate = Callable[[Float[Tensor, " n"], Float[Tensor, " n"]], Float[Tensor, " n"]]


@dataclass(frozen=True)
class Clip:
    """min(rho A, clip(rho, 1 - low, 1 + high) A). PPO, arXiv 1707.06347; low != high is DAPO."""

    low: float = 0.2
    high: float = 0.28

    def __call__(
        self, log_ratio: Float[Tensor, " n"], advantages: Float[Tensor, " n"]
    ) -> Float[Tensor, " n"]:
        ratio = log_ratio.clamp(max=FAR).exp()
        clipped = ratio.clamp(1 - self.low, 1 + self.high)
        return torch.minimum(ratio * advantages, clipped * advantages)

    def active(
        self, log_ratio: Float[Tensor, " n"], advantages: Float[Tensor, " n"]
    ) -> Bool[Tensor, " n"]:
        """True where the clip cuts the gradient; never where the advantage is 0."""
        ratio = log_ratio.exp()
        high = (advantages > 0) & (ratio > 1 + self.high)
        low = (advantages < 0) & (ratio < 1 - self.low)
        return high | low


@dataclass(frozen=True)
class Reinforce:
    """sg(rho) A log pi: the policy gradient with an importance weight and no clip.

    Its value is rho A, whose gradient is rho A grad log pi.
    """

    def __call__(
        self, log_ratio: Float[Tensor, " n"], advantages: Float[Tensor, " n"]
    ) -> Float[Tensor, " n"]:
        return log_ratio.clamp(max=FAR).exp() * advantages

    def active(
        self, log_ratio: Float[Tensor, " n"], advantages: Float[Tensor, " n"]
    ) -> Bool[Tensor, " n"]:
        """Nothing is ever cut."""
        return torch.zeros_like(log_ratio, dtype=torch.bool)
