"""Weights for answers that another program drew: the sampler's numerics are not the learner's.

w = pi_first / pi_sampler, where pi_first is the learner's policy at the weights that sampled. With
a correction, the ratio of the surrogate is taken against pi_first and w is a constant beside it;
without one the ratio is taken against pi_sampler directly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from evenodds.objectives.ratio import Tokens
from evenodds.objectives.surrogate import exp

Bound = Callable[[Float[Tensor, " n"], float], Float[Tensor, " n"]]


def truncate(weight: Float[Tensor, " n"], cap: float) -> Float[Tensor, " n"]:
    """min(w, cap). Truncated importance sampling, Yao et al. 2025."""
    return weight.clamp(max=cap)


def mask(weight: Float[Tensor, " n"], cap: float) -> Float[Tensor, " n"]:
    """w where w <= cap, else 0: what is too unlikely under the learner leaves the gradient."""
    return torch.where(weight <= cap, weight, torch.zeros_like(weight))


@dataclass(frozen=True)
class Correction:
    """The constant weight of each token: bound(w, cap), w of the token or of the whole answer.

    sequence: w is the product over the answer's tokens, the same on all of them.
    """

    bound: Bound = truncate
    cap: float = 2.0
    sequence: bool = False

    def __call__(self, tokens: Tokens) -> Float[Tensor, " n"]:
        if tokens.first_logprobs is None:
            raise ValueError("a correction needs tokens.first_logprobs")
        gap = (tokens.first_logprobs - tokens.old_logprobs).detach()
        if self.sequence:
            gap = tokens.sum_by_answer(gap)[tokens.rollout]
        return self.bound(exp(gap), self.cap)


CORRECTIONS: dict[str, Correction] = {
    "token_truncate": Correction(truncate),
    "token_mask": Correction(mask),
    "sequence_truncate": Correction(truncate, sequence=True),
    "sequence_mask": Correction(mask, sequence=True),
}
