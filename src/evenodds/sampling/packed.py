"""Projections for decoding: the same products, with the weights in the processor's own layout.

For few rows, a product on a CPU spends up to half of its time on bringing the weights into the
layout that its kernel reads. Here that is done once: again only after something wrote the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from evenodds.policies.fused.weights import Projection

ROWS = 64  # rows that the layout is chosen for; any number may be multiplied
LARGE = 2**18  # float32 weights below this size are multiplied faster as they are


def can_pack(weight: Tensor) -> bool:
    """Whether the library has a layout of its own for such weights, and it pays.

    `memory.packed_bytes` counts what this makes.
    """
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    if weight.dtype == torch.bfloat16:
        fits = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    else:
        fits = weight.dtype == torch.float32 and weight.numel() >= LARGE
    return fits and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def pack(weight: Tensor) -> Tensor:
    """A copy of `weight` [out, in] that `multiply` reads."""
    return torch.ops.mkldnn._reorder_linear_weight(weight.detach(), ROWS)


def multiply(x: Tensor, packed: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [..., in] times packed weights, [..., out]."""
    return torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")


@dataclass(frozen=True)
class _Read:
    """Where weights stood and how often they had been written.

    kept: the weights themselves, so that no others can come to lie at their address.
    """

    address: int
    version: int
    dtype: torch.dtype
    kept: Tensor = field(compare=False, repr=False)


def _state(linears: Sequence[Any]) -> Any:
    """Equal as long as nobody has written the weights; never equal where they learn.

    PEFT merges an adapter into the weights behind the back of their version.
    """
    weights: list[Tensor] = [linear.weight for linear in linears]
    if any(weight.requires_grad for weight in weights):
        return object()
    merged = [list(getattr(linear, "merged_adapters", ())) for linear in linears]
    return merged, [
        _Read(w.data_ptr(), w._version, w.dtype, w.detach())  # pyright: ignore[reportPrivateUsage]
        for w in weights
    ]


class PackedLinear(nn.Module):
    """A linear layer with its weights packed."""

    def __init__(self, linear: Any) -> None:
        super().__init__()
        self.linear = [linear]  # in a list, or it would be a part of this module
        self.state: Any = None
        self.refresh()

    def refresh(self) -> None:
        state = _state(self.linear)
        if state != self.state:
            self.state, self.packed = state, pack(self.linear[0].weight)

    def forward(self, x: Tensor) -> Tensor:
        return multiply(x, self.packed, self.linear[0].bias)


@dataclass
class Decoding:
    """A projection as the decoder applies it: y = x W' + b + (x low') high'.

    base: the packed weights, None where they are read as they are. state: of what they were packed.
    """

    projection: Projection
    state: Any = field(default=None, repr=False)
    base: Tensor | None = field(default=None, repr=False)
    low: Tensor | None = field(default=None, repr=False)
    high: Tensor | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Take the projection's present factors, and its weights if they have changed."""
        state = _state(self.projection.modules)
        if state != self.state:
            weight = self.projection.weight
            self.state, self.base = state, pack(weight) if can_pack(weight) else None
        self.low, self.high = self.projection.low, self.projection.high
        if self.base is not None and self.low is not None and self.high is not None:
            self.low, self.high = pack(self.low), pack(self.high)

    def __call__(self, x: Tensor) -> Tensor:
        times = functional.linear if self.base is None else multiply
        weight = self.projection.weight if self.base is None else self.base
        y = times(x, weight, self.projection.bias)
        if self.low is None or self.high is None:
            return y
        return y.add_(times(times(x, self.low), self.high))
