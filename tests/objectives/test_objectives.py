"""Objectives on the golden numbers, and the properties that no split or order may change."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Extent
from evenodds.errors import UsageError
from evenodds.objectives import RECIPES, Tokens, make_objective
from evenodds.objectives.reduce import per_answer, per_budget, per_token
from evenodds.objectives.surrogate import Clip, Reinforce


def tokens_of(lengths, advantages, log_ratio=0.0) -> Tokens:
    """Answers of these lengths; every token of an answer has its advantage."""
    lengths = np.asarray(lengths)
    n = int(lengths.sum())
    old = torch.full((n,), -1.0, dtype=torch.float64)
    shift = torch.as_tensor(log_ratio, dtype=torch.float64).expand(n)
    return Tokens(
        logprobs=(old + shift).requires_grad_(),
        old_logprobs=old,
        advantages=torch.from_numpy(np.repeat(np.asarray(advantages, float), lengths)),
        rollout=torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths)),
        lengths=torch.from_numpy(lengths),
    )


def by_answer(values: torch.Tensor, lengths) -> list[float]:
    return [float(part.sum()) for part in values.split(list(lengths))]


REWARDS = np.array([1.0, 0.0, 1.0])
LENGTHS = [2, 5, 8]


@pytest.mark.parametrize(
    ("recipe", "changes", "expected"),
    [
        ("grpo", {}, [0.2357, -0.4714, 0.2357]),
        ("dr_grpo", {}, [0.0278, -0.1389, 0.1111]),
        ("dapo", {}, [0.0943, -0.4714, 0.3771]),
        ("dapo", {"credit": "centered"}, [0.0444, -0.2222, 0.1778]),
    ],
)
def test_token_weights_are_the_golden_ones(recipe, changes, expected) -> None:
    objective = make_objective(recipe, **changes)
    tokens = tokens_of(LENGTHS, objective.credit(REWARDS))
    extent = Extent(tokens=15, rollouts=3, max_tokens=8)
    (gradient,) = torch.autograd.grad(-objective.score(tokens, extent).loss, tokens.logprobs)
    assert by_answer(gradient, LENGTHS) == pytest.approx(expected, abs=5e-5)


def test_surrogate_and_clip_activity_are_the_golden_ones() -> None:
    log_ratio = torch.tensor([1.35, 0.85, 1.10, 0.70]).log()
    advantages = torch.tensor([1.0, 1.0, -1.0, -1.0])
    clip = Clip(0.2, 0.2)
    assert clip(log_ratio, advantages).tolist() == pytest.approx([1.2, 0.85, -1.1, -0.8])
    assert clip.active(log_ratio, advantages).tolist() == [True, False, False, True]
    assert not clip.active(log_ratio, torch.zeros(4)).any()


@pytest.mark.parametrize(
    "split", [[[0, 1], [2, 3]], [[0], [1, 2, 3]], [[0, 1, 2, 3]], [[3], [0, 2], [1]]]
)
def test_accumulated_gradients_do_not_depend_on_the_split(split) -> None:
    lengths, advantages = [2, 2, 10, 50], [1.0, 1.0, -1.0, -1.0]
    extent = Extent(tokens=64, rollouts=4, max_tokens=64)
    objective = make_objective("dapo")
    found = {}
    for part in split:
        tokens = tokens_of([lengths[i] for i in part], [advantages[i] for i in part])
        (gradient,) = torch.autograd.grad(objective.score(tokens, extent).loss, tokens.logprobs)
        found.update(zip(part, by_answer(gradient, [lengths[i] for i in part]), strict=True))
    assert [found[i] for i in range(4)] == pytest.approx([-0.03125, -0.03125, 0.15625, 0.78125])


def test_coefficients_of_each_reduction() -> None:
    tokens = tokens_of([2, 2, 10, 50], [1, 1, -1, -1])
    extent = Extent(tokens=64, rollouts=4, max_tokens=64)
    first = [0, 2, 4, 14]
    assert per_answer(tokens, extent)[first].tolist() == pytest.approx([0.125, 0.125, 0.025, 0.005])
    assert per_token(tokens, extent)[first].tolist() == pytest.approx([1 / 64] * 4)
    assert per_budget(tokens, extent)[first].tolist() == pytest.approx([1 / 256] * 4)


@settings(max_examples=200, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    advantage=st.floats(-2, 2),
    recipe=st.sampled_from(sorted(RECIPES)),
)
def test_at_ratio_one_every_recipe_has_the_reinforce_gradient(lengths, advantage, recipe) -> None:
    objective = RECIPES[recipe]
    credits = [advantage * (1 if i % 2 else -1) for i in range(len(lengths))]
    tokens = tokens_of(lengths, credits)
    extent = Extent(tokens=sum(lengths), rollouts=len(lengths), max_tokens=16)
    (gradient,) = torch.autograd.grad(-objective.score(tokens, extent).loss, tokens.logprobs)
    expected = objective.reduce(tokens, extent) * tokens.advantages
    assert torch.allclose(gradient, expected)


@settings(max_examples=100, deadline=None)
@given(shift=st.floats(-1, 1), advantage=st.sampled_from([-1.0, 0.0, 1.0]))
def test_a_clipped_token_has_no_gradient_and_others_have(shift, advantage) -> None:
    tokens = tokens_of([1], [advantage], shift)
    scored = RECIPES["dr_grpo"].score(tokens, Extent(1, 1, 1))
    (gradient,) = torch.autograd.grad(scored.loss, tokens.logprobs)
    assert bool(gradient.abs().item() > 0) == (advantage != 0 and not bool(scored.clipped))


@pytest.mark.parametrize("recipe", sorted(RECIPES))
@pytest.mark.parametrize("shift", [-1e4, -100.0, 100.0, 1e4])
@pytest.mark.parametrize("advantage", [-1.0, 0.0, 1.0])
def test_gradients_stay_finite_however_far_the_policy_moved(recipe, shift, advantage) -> None:
    tokens = tokens_of([2], [advantage], shift)
    loss = RECIPES[recipe].score(tokens, Extent(2, 1, 2)).loss
    (gradient,) = torch.autograd.grad(loss, tokens.logprobs)
    assert torch.isfinite(gradient).all()


def test_a_clip_range_without_a_clip_is_refused() -> None:
    with pytest.raises(UsageError, match="clip"):
        make_objective("rloo", clip_high=0.3)


def test_axes_change_by_name_and_unknown_names_are_refused() -> None:
    changed = make_objective("grpo", credit="leave_one_out", reduce="per_token", clip_high=0.4)
    assert (changed.credit.__name__, changed.reduce.__name__) == ("leave_one_out", "per_token")
    assert changed.surrogate == Clip(0.2, 0.4)
    assert isinstance(make_objective("rloo").surrogate, Reinforce)
    assert make_objective("rloo", surrogate="clip").surrogate == Clip()
    with pytest.raises(UsageError, match="Did you mean 'dapo'"):
        make_objective("dappo")
    for axis in ("credit", "ratio", "surrogate", "reduce"):
        with pytest.raises(UsageError, match="nonsense"):
            make_objective(**{axis: "nonsense"})
