"""The output head: log-probabilities of given tokens without the logits of a whole batch.

Hidden states go through the head a chunk at a time. A head that does not learn has its gradient
ready at once: log pi changes with the hidden state by W[target] - sum_v p_v W_v, one vector for
each token. A head that learns is computed again, chunk by chunk, in the backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import Function
from torch.utils.checkpoint import checkpoint

CHUNK_VALUES = 32 * 2**20  # logits held at once: 128 MiB in fp32
CHUNK_ROWS = 256  # rows of one product with a head that does not learn
CACHED_VALUES = 2**19  # fp32 values that a CPU's cache holds while several operations read them


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

    @property
    def frozen(self) -> Tensor | None:
        """The weight [v, h] of a plain linear head that does not learn; None of any other."""
        linear: Any = self.linear
        if type(linear) is not nn.Linear or self.scale != 1.0 or self.softcap:
            return None
        learns = any(parameter.requires_grad for parameter in linear.parameters())
        return None if learns or "bias" in dict(linear.named_parameters()) else linear.weight


def _chunk(
    hidden: Float[Tensor, "n h"],
    head: Head,
    targets: Int[Tensor, " n"],
    temperature: float,
    entropy_gradient: bool,
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    logprobs = (head(hidden) / temperature).log_softmax(-1)
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        entropy = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(-1, targets[:, None])[:, 0], entropy


def token_logprobs(
    hidden: Float[Tensor, "n h"],
    head: Head,
    targets: Int[Tensor, " n"],
    temperature: float,
    entropy_gradient: bool = False,
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """log pi(target) and the entropy of each token's distribution, both at `temperature`.

    The entropy carries a gradient only where it is asked for.
    """
    weight = head.frozen
    if weight is not None and not entropy_gradient:
        found: Any = _Frozen.apply(hidden, weight, targets, temperature)  # pyright: ignore[reportUnknownMemberType]
        return found
    vocabulary = getattr(head.linear, "out_features", None) or 1
    size = max(1, CHUNK_VALUES // vocabulary)
    if len(targets) <= size:
        return _chunk(hidden, head, targets, temperature, entropy_gradient)
    parts = [
        checkpoint(_chunk, h, head, t, temperature, entropy_gradient, use_reentrant=False)
        for h, t in zip(hidden.split(size), targets.split(size), strict=True)
    ]
    logprobs, entropy = zip(*parts, strict=True)
    return torch.cat(logprobs), torch.cat(entropy)


class _Frozen(Function):
    """Log-probabilities and entropies under a head that does not learn. Keeps [n, h]."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:
        logprobs = torch.empty(len(targets), device=hidden.device)
        entropy = torch.empty_like(logprobs)
        slopes = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        logits = hidden.new_empty(min(CHUNK_ROWS, len(targets)), len(weight))
        for start in range(0, len(targets), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            chunk = logits[: len(targets[rows])]
            torch.mm(hidden[rows], weight.t(), out=chunk)
            _score(chunk, targets[rows], temperature, logprobs[rows], entropy[rows])
            if slopes is not None:
                torch.mm(chunk, weight, out=slopes[rows])
        ctx.save_for_backward(slopes)
        ctx.mark_non_differentiable(entropy)
        ctx.temperature = temperature
        return logprobs, entropy

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None, None, None]:
        (slopes,) = ctx.saved_tensors
        factor = outputs[0][:, None] / ctx.temperature
        return (slopes * factor).to(slopes.dtype), None, None, None


def _score(
    logits: Float[Tensor, "n v"],
    targets: Int[Tensor, " n"],
    temperature: float,
    logprobs: Float[Tensor, " n"],
    entropy: Float[Tensor, " n"],
) -> None:
    """Fill in log-probabilities and entropies; turn logits into (1 at the target) - p, in place.

    A few rows at a time, so that a CPU reads and writes them in its cache.
    """
    count = len(targets)
    if logits.device.type == "cpu":
        count = max(1, CACHED_VALUES // logits.shape[1])
    for start in range(0, len(targets), count):
        rows = slice(start, start + count)
        part, target = logits[rows], targets[rows, None]
        centred = part.float()  # the logits themselves where they are fp32
        centred.sub_(centred.amax(-1, keepdim=True))
        if temperature != 1.0:
            centred.div_(temperature)
        masses = centred.exp()
        total = masses.sum(-1, keepdim=True)
        log_total = total.log()
        logprobs[rows] = (centred.gather(-1, target) - log_total)[:, 0]
        masses.div_(total)
        entropy[rows] = log_total[:, 0] - torch.linalg.vecdot(masses, centred)
        masses.neg_().scatter_add_(-1, target, torch.ones_like(total))
        part.copy_(masses)
