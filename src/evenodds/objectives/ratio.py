"""What an objective sees of a micro-batch, and how far the policy moved on each token.

Tokens are flat: one entry for each answer token in the loss, whatever answer it belongs to. There
is no padding and so no mask, and nothing outside a mask that could become NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    """

    logprobs: Float[Tensor, " n"]
    old_logprobs: Float[Tensor, " n"]
    advantages: Float[Tensor, " n"]
    rollout: Int[Tensor, " n"]
    lengths: Int[Tensor, " r"]


Ratio = Callable[[Tokens], Float[Tensor, " n"]]


def token(tokens: Tokens) -> Float[Tensor, " n"]:
    """log rho_it = log pi(o_it) - log pi_old(o_it), each token for itself."""
    return tokens.logprobs - tokens.old_logprobs


RATIOS: dict[str, Ratio] = {"token": token}
