"""Log-probabilities without the logits of a whole batch: the same values, gradients, and memory."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from evenodds.policies import head as heads
from evenodds.policies.head import Head, token_logprobs

HIDDEN, VOCABULARY = 16, 300


def make_head(learns: bool, dtype: torch.dtype = torch.float32, **twists) -> Head:
    torch.manual_seed(0)
    linear = torch.nn.Linear(HIDDEN, VOCABULARY, bias=False).to(dtype)
    return Head(linear.requires_grad_(learns), **twists)


def make_tokens(count: int, dtype: torch.dtype = torch.float32):
    torch.manual_seed(1)
    hidden = (3 * torch.randn(count, HIDDEN)).to(dtype).requires_grad_()
    return hidden, torch.randint(VOCABULARY, (count,)), torch.randn(count)


def plain(hidden, head: Head, targets, temperature):
    every = (head(hidden) / temperature).log_softmax(-1)
    return every.gather(-1, targets[:, None])[:, 0], -(every.exp() * every).sum(-1)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch) -> None:
    monkeypatch.setattr(heads, "CHUNK_ROWS", 8)
    monkeypatch.setattr(heads, "CACHED_VALUES", 3 * VOCABULARY)
    monkeypatch.setattr(heads, "CHUNK_VALUES", 8 * VOCABULARY)


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("twists", [{}, {"scale": 0.5}, {"softcap": 4.0}])
def test_values_and_gradients_are_those_of_whole_logits(learns, temperature, twists) -> None:
    head = make_head(learns, **twists)
    hidden, targets, towards = make_tokens(21)
    found, entropy = token_logprobs(hidden, head, targets, temperature)
    right, all_entropy = plain(hidden, head, targets, temperature)
    assert torch.allclose(found, right, atol=1e-5)
    assert torch.allclose(entropy, all_entropy, atol=1e-5)
    assert not entropy.requires_grad
    inputs = [hidden, *(p for p in head.linear.parameters() if learns)]
    for one, other in zip(
        torch.autograd.grad(found, inputs, towards),
        torch.autograd.grad(right, inputs, towards),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("learns", [False, True])
def test_an_entropy_that_is_paid_for_has_its_gradient(learns) -> None:
    head = make_head(learns)
    hidden, targets, towards = make_tokens(21)
    _, entropy = token_logprobs(hidden, head, targets, 0.8, entropy_gradient=True)
    _, right = plain(hidden, head, targets, 0.8)
    (one,) = torch.autograd.grad(entropy, hidden, towards)
    (other,) = torch.autograd.grad(right, hidden, towards)
    assert torch.allclose(one, other, atol=1e-5)


def test_bfloat16_logits_are_scored_in_float32() -> None:
    """Rounding of the logits aside, which the sampler shares, nothing is lost."""
    head = make_head(False, torch.bfloat16)
    hidden, targets, towards = make_tokens(21, torch.bfloat16)
    found, entropy = token_logprobs(hidden, head, targets, 1.0)
    right, all_entropy = plain(hidden, head, targets, 1.0)
    assert torch.allclose(found, right, atol=1e-5)
    assert torch.allclose(entropy, all_entropy, atol=1e-5)
    (one,) = torch.autograd.grad(found, hidden, towards)
    (other,) = torch.autograd.grad(right, hidden, towards)
    assert float((one - other).float().norm() / other.float().norm()) < 0.02


class Largest(TorchDispatchMode):
    """The most values that any tensor made under it has."""

    values = 0

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        found = operation(*arguments, **(options or {}))
        for tensor in found if isinstance(found, tuple | list) else (found,):
            if isinstance(tensor, torch.Tensor):
                self.values = max(self.values, tensor.numel())
        return found


@pytest.mark.parametrize("learns", [False, True])
def test_memory_does_not_grow_with_tokens_times_vocabulary(learns) -> None:
    """No tensor is larger than a chunk of logits, forward and backward; [n, hidden] is kept."""
    head = make_head(learns)
    hidden, targets, towards = make_tokens(80)
    kept = 0

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal kept
        kept += tensor.numel() * (tensor.untyped_storage().data_ptr() != weight)
        return tensor

    weight = head.linear.weight.untyped_storage().data_ptr()
    with Largest() as largest:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            found, _ = token_logprobs(hidden, head, targets, 1.0)
        found.backward(towards)
    assert largest.values <= max(8, HIDDEN) * VOCABULARY
    assert kept <= len(targets) * (HIDDEN + 4)
