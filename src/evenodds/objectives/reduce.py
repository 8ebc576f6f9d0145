"""How tokens are weighted in the sum: where GRPO, Dr. GRPO and DAPO differ.

A reduction gives the weight of each token. The denominators come from the `Extent` of the whole
optimizer step, so the split into micro-batches cannot change the gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from evenodds.domain import Extent
from evenodds.objectives.ratio import Tokens

Reduce = Callable[[Tokens, Extent], Float[Tensor, " n"]]


def per_answer(tokens: Tokens, extent: Extent) -> Float[Tensor, " n"]:
    """1 / (answers · |o_i|): every answer counts the same. GRPO, arXiv 2402.03300."""
    return 1.0 / (extent.rollouts * tokens.lengths[tokens.rollout].to(tokens.logprobs.dtype))


def per_budget(tokens: Tokens, extent: Extent) -> Float[Tensor, " n"]:
    """1 / (answers · L): every token counts the same, by a constant. Dr. GRPO, arXiv 2503.20783."""
    return torch.full_like(tokens.advantages, 1.0 / (extent.rollouts * extent.max_tokens))


def per_token(tokens: Tokens, extent: Extent) -> Float[Tensor, " n"]:
    """1 / (tokens of the step): every token counts the same. DAPO, arXiv 2503.14476 eq. 8."""
    return torch.full_like(tokens.advantages, 1.0 / extent.tokens)


def per_sequence(tokens: Tokens, extent: Extent) -> Float[Tensor, " n"]:
    """1 / answers for each answer, spread over its tokens. GSPO, arXiv 2507.18071 eq. 5.

    For a ratio that all tokens of an answer share; with token ratios it is `per_answer`.
    """
    return per_answer(tokens, extent)


REDUCTIONS: dict[str, Reduce] = {
    "per_answer": per_answer,
    "per_budget": per_budget,
    "per_token": per_token,
    "per_sequence": per_sequence,
}
