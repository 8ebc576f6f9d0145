"""Operations of a block with backward passes of their own, which keep and read less.

Each is the forward of `operations.py`. What autograd would keep and can be had again cheaply is
not kept; what does not learn has no gradient computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import Function
from torch.nn import functional

from evenodds.policies.fused.operations import gated, inverse_rms, scaled
from evenodds.policies.fused.weights import Projection, adapter_of

Gradients = list[Tensor | None]


class _Project(Function):
    """y = x W' + b + (x low') high', for x [n, in]. Keeps x and x low'."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, projection: Projection, *parameters: Tensor | None) -> Tensor:
        y = functional.linear(x, projection.weight, projection.bias)
        ctx.projection = projection
        ctx.factors = projection.weight, projection.low, projection.high
        middle = None
        if projection.low is not None and projection.high is not None:
            middle = x @ projection.low.t()
            y.addmm_(middle, projection.high.t())
        kept = x if any(ctx.needs_input_grad[2:]) else None
        ctx.save_for_backward(kept, middle)
        return y

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor | None, ...]:
        (dy,) = outputs
        x, middle = ctx.saved_tensors
        weight, low, high = ctx.factors
        d_middle = None if high is None else dy @ high
        dx = None
        if ctx.needs_input_grad[0]:
            dx = dy @ weight
            if d_middle is not None:
                dx.addmm_(d_middle, low)
        needs = ctx.needs_input_grad[2:]
        if x is None:
            return dx, None, *(None for _ in needs)
        found = _base_gradients(ctx.projection, needs[::4], needs[1::4], dy, x)
        if d_middle is not None:
            _factor_gradients(ctx.projection, found, dy, d_middle, x, middle)
        return dx, None, *(value for part in found for value in part)


def _base_gradients(
    projection: Projection,
    weights: Sequence[bool],
    biases: Sequence[bool],
    dy: Tensor,
    x: Tensor,
) -> list[Gradients]:
    """[weight, bias, A, B] of each linear layer, the first two where they learn."""
    rows = [len(base.weight) for base in projection.bases]
    found: list[Gradients] = [[None, None, None, None] for _ in rows]
    for place, (needed, whole) in enumerate(
        ((weights, lambda: dy.t() @ x), (biases, lambda: dy.sum(0)))
    ):
        if any(needed):
            for part, gradient, wanted in zip(found, whole().split(rows), needed, strict=True):
                part[place] = gradient if wanted else None
    return found


def _factor_gradients(
    projection: Projection,
    found: list[Gradients],
    dy: Tensor,
    d_middle: Tensor,
    x: Tensor,
    middle: Tensor,
) -> None:
    """Fill in A and B of each linear layer that has an adapter, in the type they learn in."""
    d_low = d_middle.t() @ x
    row = rank = 0
    for module, base, part in zip(projection.modules, projection.bases, found, strict=True):
        adapter = adapter_of(module)
        end = row + len(base.weight)
        if adapter is not None:
            low, _, scale = adapter
            to = rank + len(low)
            part[2] = d_low[rank:to].to(low.dtype)
            d_high = middle[:, rank:to].t() @ dy[:, row:end]  # faster than the other way round
            part[3] = d_high.t().to(low.dtype, memory_format=torch.contiguous_format).mul_(scale)
            rank = to
        row = end


def project(x: Float[Tensor, "n in"], projection: Projection) -> Float[Tensor, "n out"]:
    """The projection of x. Gradients reach the modules' own parameters."""
    parameters: list[Tensor | None] = []
    for module, base in zip(projection.modules, projection.bases, strict=True):
        low, high, _ = adapter_of(module) or (None, None, 1.0)
        parameters += [base.weight, base.bias, low, high]
    return _apply(_Project, x, projection, *parameters)


class _Rms(Function):
    """x over its root mean square, times the weight. Keeps x and one number a row."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        scale = inverse_rms(x, eps)
        ctx.save_for_backward(x, weight, scale)
        return scaled(x, scale, weight)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor | None, ...]:
        (dy,) = outputs
        x, weight, scale = ctx.saved_tensors
        d_weight = None
        if ctx.needs_input_grad[1]:
            d_weight = (dy * (x * scale)).sum(0).to(weight.dtype)
        if not ctx.needs_input_grad[0]:
            return None, d_weight, None
        dx = dy * weight.float()
        along = torch.linalg.vecdot(dx, x.to(dx.dtype))[..., None]
        along.mul_(scale.pow(3)).div_(x.shape[-1])
        dx = dx.mul_(scale).addcmul_(x.to(dx.dtype), along, value=-1)
        return dx.to(x.dtype), d_weight, None


def rms(x: Float[Tensor, "n ... h"], weight: Float[Tensor, "... h"], eps: float) -> Tensor:
    """RMS norm over the last axis."""
    return _apply(_Rms, x, weight, eps)


class _Gated(Function):
    """silu(gate) * up. Keeps the fused product only."""

    @staticmethod
    def forward(ctx: Any, inner: Tensor) -> Tensor:
        ctx.save_for_backward(inner)
        return gated(inner)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> Tensor:
        (dy,) = outputs
        (inner,) = ctx.saved_tensors
        gate, up = inner.chunk(2, dim=-1)
        found = torch.empty_like(inner)
        d_gate, d_up = found.chunk(2, dim=-1)
        torch.mul(functional.silu(gate), dy, out=d_up)
        torch.ops.aten.silu_backward.grad_input(dy * up, gate, grad_input=d_gate)
        return found


def gate(inner: Float[Tensor, "n 2*i"]) -> Float[Tensor, "n i"]:
    """silu(gate) * up of a fused projection."""
    return _apply(_Gated, inner)


def _apply(function: type[Function], *values: Any) -> Tensor:
    found: Any = function.apply(*values)  # pyright: ignore[reportUnknownMemberType]
    return found
