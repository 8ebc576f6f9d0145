"""The draw of one token a row by inverse CDF, block by block: no sort, no multinomial."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

BLOCK = 256  # softmax mass is summed in blocks of this many tokens; only one block is searched


def _search(mass: Float[Tensor, "b k"], point: Float[Tensor, " b"]) -> Int[Tensor, " b"]:
    """First index whose running sum exceeds `point`; never one past the last that has mass."""
    running = mass.cumsum(-1)
    index = (running <= point[:, None]).sum(-1)
    last = mass.shape[-1] - 1 - (mass.flip(-1) > 0).int().argmax(-1)
    return torch.minimum(index, last)


def draw(
    logits: Float[Tensor, "b v"], uniforms: Float[Tensor, " b"], temperature: float
) -> tuple[Int[Tensor, " b"], Float[Tensor, " b"]]:
    """Tokens and their log-probabilities under softmax(logits / temperature).

    uniforms: one number in [0, 1) a row; it alone decides the draw. Temperature 0 takes the most
    likely token, whose log-probability under that one-point distribution is 0.
    """
    if temperature == 0:
        return logits.argmax(-1), torch.zeros(len(logits), device=logits.device)
    logprobs = (logits.float() / temperature).log_softmax(-1)
    rows, vocabulary = logprobs.shape
    mass = functional.pad(logprobs.exp(), (0, -vocabulary % BLOCK)).view(rows, -1, BLOCK)
    sums = mass.sum(-1)
    point = uniforms.to(sums.dtype) * sums.sum(-1)
    block = _search(sums, point)
    before = functional.pad(sums.cumsum(-1), (1, 0)).gather(-1, block[:, None])[:, 0]
    here = mass[torch.arange(rows, device=mass.device), block]
    token = block * BLOCK + _search(here, point - before)
    return token, logprobs.gather(-1, token[:, None])[:, 0]
