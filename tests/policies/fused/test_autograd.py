"""Each operation's own backward pass against what autograd makes of the plain formula."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from evenodds.policies.fused import autograd

EPS = 1e-5


def drawn(*shapes: tuple[int, ...], seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def assert_same(one, other, inputs: list[torch.Tensor]) -> None:
    first, second = one(*inputs), other(*inputs)
    assert torch.allclose(first, second, atol=1e-6)
    (towards,) = drawn(tuple(first.shape), seed=1)
    for found, right in zip(
        torch.autograd.grad(first, inputs, towards),
        torch.autograd.grad(second, inputs, towards),
        strict=True,
    ):
        assert torch.allclose(found, right, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("shape", [(5, 12), (5, 3, 12)])
def test_rms_norm(shape) -> None:
    def plain(x, weight):
        return x * (x.square().mean(-1, keepdim=True) + EPS).rsqrt() * weight

    assert_same(lambda x, w: autograd.rms(x, w, EPS), plain, drawn(shape, shape[1:]))


def test_a_row_of_zeros_has_a_finite_norm_and_gradient() -> None:
    x = torch.zeros(2, 8, requires_grad=True)
    autograd.rms(x, torch.ones(8), EPS).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_gated_product() -> None:
    def plain(x):
        gate, up = x.chunk(2, -1)
        return functional.silu(gate) * up

    assert_same(autograd.gate, plain, drawn((6, 20)))


def test_nothing_is_computed_for_what_does_not_learn() -> None:
    x, weight = drawn((4, 8), (8,))
    out = autograd.rms(x, weight.detach(), EPS)
    assert torch.autograd.grad(out.sum(), x)[0].shape == x.shape
    out = autograd.rms(x.detach(), weight, EPS)
    assert torch.autograd.grad(out.sum(), weight)[0].shape == weight.shape
    assert not autograd.rms(x.detach(), weight.detach(), EPS).requires_grad
