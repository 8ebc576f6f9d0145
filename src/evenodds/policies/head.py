"""Log-probabilities of given tokens without the logits of a whole batch.

Hidden states go through the output head a chunk at a time, forward and backward: at most
`chunk` × vocabulary logits exist at any moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

CHUNK_VALUES = 32 * 2**20  # logits held at once: 128 MiB in fp32


@dataclass(frozen=True)
class Head:
    """hidden -> fp32 logits, with the two twists that families put behind their linear head."""

    linear: nn.Module
    scale: float = 1.0
    softcap: float | None = None

    @classmethod
    def of(cls, model: Any) -> Head:
        config = model.config
        scale = getattr(config, "logit_scale", None) or 1.0
        scale /= getattr(config, "logits_scaling", None) or 1.0
        return cls(
            model.get_output_embeddings(), scale, getattr(config, "final_logit_softcapping", None)
        )

    def __call__(self, hidden: Float[Tensor, "n h"]) -> Float[Tensor, "n v"]:
        logits = self.linear(hidden).float()
        if self.scale != 1.0:
            logits = logits * self.scale
        if self.softcap:
            logits = self.softcap * torch.tanh(logits / self.softcap)
        return logits


def _chunk(
    hidden: Float[Tensor, "n h"], head: Head, targets: Int[Tensor, " n"], temperature: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    logprobs = (head(hidden) / temperature).log_softmax(-1)
    with torch.no_grad():
        entropy = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(-1, targets[:, None])[:, 0], entropy


def token_logprobs(
    hidden: Float[Tensor, "n h"], head: Head, targets: Int[Tensor, " n"], temperature: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """log pi(target) and the entropy of each token's distribution, both at `temperature`.

    The entropy carries no gradient. Where more than one chunk is needed each is computed again in
    the backward pass instead of being kept.
    """
    vocabulary = getattr(head.linear, "out_features", None) or 1
    size = max(1, CHUNK_VALUES // vocabulary)
    if len(targets) <= size:
        return _chunk(hidden, head, targets, temperature)
    parts = [
        checkpoint(_chunk, h, head, t, temperature, use_reentrant=False)
        for h, t in zip(hidden.split(size), targets.split(size), strict=True)
    ]
    logprobs, entropy = zip(*parts, strict=True)
    return torch.cat(logprobs), torch.cat(entropy)
