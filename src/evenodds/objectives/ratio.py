"""What an objective sees of a micro-batch, and how far the policy moved.

Tokens are flat: one entry for each answer token in the loss, whatever answer it belongs to. There
is no padding and so no mask, and nothing outside a mask that could become NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Tokens:
    """The n answer tokens of r whole answers.

    logprobs: under the policy that is being trained; carries the gradient.
    old_logprobs: what the sampler recorded, at the same temperature.
    advantages: the advantage of the answer that a token belongs to.
    rollout: index of that answer, 0 <= rollout < r.
    lengths: tokens in each answer.
    first_logprobs: the learner's own, before its first update on this batch. Corrections need them.
    reference_logprobs: under the policy that training started from, where a KL is wanted.
    entropy: nats, of the distribution that a token was drawn from under the policy that is being
        trained; it carries a gradient where the objective pays for entropy.
    """

    logprobs: Float[Tensor, " n"]
    old_logprobs: Float[Tensor, " n"]
    advantages: Float[Tensor, " n"]
    rollout: Int[Tensor, " n"]
    lengths: Int[Tensor, " r"]
    first_logprobs: Float[Tensor, " n"] | None = None
    reference_logprobs: Float[Tensor, " n"] | None = None
    entropy: Float[Tensor, " n"] | None = None

    def sum_by_answer(self, values: Float[Tensor, " n"]) -> Float[Tensor, " r"]:
        """The sum of the tokens of each answer."""
        zero = torch.zeros(len(self.lengths), dtype=values.dtype, device=values.device)
        return zero.index_add(0, self.rollout, values)


Ratio = Callable[[Float[Tensor, " n"], Tokens], Float[Tensor, " n"]]
"""(log pi - log pi_old of each token, tokens) -> the log ratio that the surrogate gets."""


def token(log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Float[Tensor, " n"]:
    """log rho_it = log pi(o_it) - log pi_old(o_it), each token for itself."""
    return log_ratio


def sequence(log_ratio: Float[Tensor, " n"], tokens: Tokens) -> Float[Tensor, " n"]:
    """log s_i = 1/|o_i| sum over t of log rho_it, the same on every token of an answer.

    GSPO, arXiv 2507.18071 eq. 7. Its gradient reaches every token of the answer.
    """
    means = tokens.sum_by_answer(log_ratio) / tokens.lengths.to(log_ratio.dtype)
    return means[tokens.rollout]


RATIOS: dict[str, Ratio] = {"token": token, "sequence": sequence}
