"""What is maximised on each token, given how far the policy moved there.

A surrogate is a function (log ratio [n], tokens) -> value [n]. Those with settings are frozen
dataclasses; a plain function of a person's own serves as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from evenodds.objectives.ratio import Tokens

FAR = 20.0  # log ratio beyond which exp would leave float32, and NaN follow; e^20 is 5e8

Surrogate = Callable[[Float[Tensor, " n"], Tokens], Float[Tensor, " n"]]


def exp(log_ratio: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The ratio, finite whatever the policy did."""
    return log_ratio.clamp(max=FAR).exp()


@dataclass(frozen=True)
class Clip:
    """min(rho A, clip(rho, 1 - low, 1 + high) A). PPO, arXiv 1707.06347; low != high is DAPO."""

    low: float = 0.2
    high: float = 0.28

    def __call__(self, log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Float[Tensor, " n"]:
        ratio = exp(log_ratio)
        clipped = ratio.clamp(1 - self.low, 1 + self.high)
        return torch.minimum(ratio * tokens.advantages, clipped * tokens.advantages)


@dataclass(frozen=True)
class DualClip:
    """As `Clip`, and where A < 0 never below dual · A: max(that, dual A). arXiv 1912.09729 eq. 5.

    A far too likely wrong token (rho > dual) then pulls with no more force.
    """

    low: float = 0.2
    high: float = 0.28
    dual: float = 3.0

    def __call__(self, log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Float[Tensor, " n"]:
        value = Clip(self.low, self.high)(log_ratio, tokens)
        floor = torch.maximum(value, self.dual * tokens.advantages)
        return torch.where(tokens.advantages < 0, floor, value)


@dataclass(frozen=True)
class Cispo:
    """sg(clip(rho, 1 - low, 1 + high)) A log pi: the weight is capped, no gradient is cut.

    MiniMax-M1, arXiv 2506.13585 eq. 4-5. low = 1 is no lower bound, as there. TRL's cap is the
    absolute `epsilon_high`; ours is 1 + high, as the paper writes it.
    """

    low: float = 1.0
    high: float = 4.0

    def __call__(self, log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Float[Tensor, " n"]:
        weight = exp(log_ratio.detach()).clamp(1 - self.low, 1 + self.high)
        return weight * tokens.advantages * tokens.logprobs

    def active(self, log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Bool[Tensor, " n"]:
        """True where the weight is not the ratio itself."""
        ratio = exp(log_ratio)
        return (tokens.advantages != 0) & ((ratio < 1 - self.low) | (ratio > 1 + self.high))


@dataclass(frozen=True)
class Reinforce:
    """sg(rho) A log pi: the policy gradient with an importance weight and no clip.

    Its value is rho A, whose gradient is rho A grad log pi.
    """

    def __call__(self, log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Float[Tensor, " n"]:
        return exp(log_ratio) * tokens.advantages


@dataclass(frozen=True)
class SoftGate:
    """(4 / tau) sigmoid(tau (rho - 1)) A, tau by the sign of A. SAPO, arXiv 2511.20347.

    At rho = 1 its slope is 1, as REINFORCE has it; far from 1 it fades instead of being cut.
    """

    positive: float = 1.0
    negative: float = 1.05

    def __call__(self, log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Float[Tensor, " n"]:
        ones = torch.ones_like(log_ratio)
        tau = torch.where(tokens.advantages > 0, self.positive * ones, self.negative * ones)
        return 4 / tau * torch.sigmoid(tau * (exp(log_ratio) - 1)) * tokens.advantages

    def active(self, log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Bool[Tensor, " n"]:
        """Nowhere: a gate fades, and where its slope is rounded to 0 nothing was cut."""
        return torch.zeros_like(tokens.rollout, dtype=torch.bool)


SURROGATES: dict[str, Any] = {
    "clip": Clip,
    "dual_clip": DualClip,
    "cispo": Cispo,
    "reinforce": Reinforce,
    "soft_gate": SoftGate,
}


def activity(
    surrogate: Surrogate, log_ratio: Float[Tensor, " n"], tokens: Tokens
) -> Bool[Tensor, " n"]:
    """True where the surrogate cuts the gradient of a token; never where its advantage is 0.

    A surrogate that caps a weight instead says itself where (`active`).
    """
    own = getattr(surrogate, "active", None)
    if own is not None:
        return own(log_ratio.detach(), tokens)
    entropy = None if tokens.entropy is None else tokens.entropy.detach()
    still = replace(tokens, logprobs=tokens.logprobs.detach(), entropy=entropy)
    with torch.enable_grad():
        moved = log_ratio.detach().requires_grad_()
        value = surrogate(moved, still).sum()
        if not value.requires_grad:  # a function of log pi alone: nothing of the ratio is cut
            return torch.zeros_like(still.rollout, dtype=torch.bool)
        (slope,) = torch.autograd.grad(value, moved)
    return (slope == 0) & (tokens.advantages != 0)
