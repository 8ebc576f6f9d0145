"""The golden numbers of FORMULAS: token weights, coefficients, surrogates and where they cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from evenodds.domain import Extent
from evenodds.objectives import RECIPES, Tokens, make_objective
from evenodds.objectives.ratio import sequence
from evenodds.objectives.reduce import per_answer, per_budget, per_sequence, per_token
from evenodds.objectives.surrogate import Cispo, Clip, DualClip, Reinforce, SoftGate, activity


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


def single(ratios, advantages) -> Tokens:
    """One answer of one token for each ratio."""
    return tokens_of([1] * len(ratios), advantages, torch.tensor(ratios).double().log())


def by_answer(values: torch.Tensor, lengths) -> list[float]:
    return [float(part.sum()) for part in values.split(list(lengths))]


REWARDS = np.array([1.0, 0.0, 1.0])
LENGTHS = [2, 5, 8]


@pytest.mark.parametrize(
    ("recipe", "changes", "expected", "size"),
    [
        ("grpo", {}, [0.2357, -0.4714, 0.2357], 0.9428),
        ("dr_grpo", {}, [0.0278, -0.1389, 0.1111], 0.2778),
        ("dapo", {}, [0.0943, -0.4714, 0.3771], 0.9428),
        ("dapo", {"credit": "centered"}, [0.0444, -0.2222, 0.1778], 0.4444),
    ],
)
def test_token_weights_are_the_golden_ones(recipe, changes, expected, size) -> None:
    objective = make_objective(recipe, **changes)
    tokens = tokens_of(LENGTHS, objective.credit(REWARDS))
    extent = Extent(tokens=15, rollouts=3, max_tokens=8)
    (gradient,) = torch.autograd.grad(-objective.score(tokens, extent).loss, tokens.logprobs)
    assert by_answer(gradient, LENGTHS) == pytest.approx(expected, abs=5e-5)
    assert float(gradient.abs().sum()) == pytest.approx(size, abs=5e-5)


GOLDEN_RATIOS, GOLDEN_ADVANTAGES = [1.35, 0.85, 1.10, 0.70], [1.0, 1.0, -1.0, -1.0]


def test_surrogate_and_clip_activity_are_the_golden_ones() -> None:
    tokens = single(GOLDEN_RATIOS, GOLDEN_ADVANTAGES)
    log_ratio = tokens.logprobs - tokens.old_logprobs
    clip = Clip(0.2, 0.2)
    assert clip(log_ratio, tokens).tolist() == pytest.approx([1.2, 0.85, -1.1, -0.8])
    assert activity(clip, log_ratio, tokens).tolist() == [True, False, False, True]


@pytest.mark.parametrize("surrogate", [Clip(), DualClip(), Cispo(), Reinforce(), SoftGate()])
def test_nothing_is_cut_where_there_is_no_advantage(surrogate) -> None:
    tokens = single([1e-9, 0.5, 1.0, 2.0, 1e8, 1e300], [0.0] * 6)
    assert not activity(surrogate, tokens.logprobs - tokens.old_logprobs, tokens).any()


@pytest.mark.parametrize(
    ("surrogate", "ratio", "advantage", "value", "slope", "cut"),
    [
        (Clip(0.2, 0.28), 1.27, 1.0, 1.27, 1.27, False),
        (Clip(0.2, 0.28), 1.29, 1.0, 1.28, 0.0, True),
        (Clip(0.2, 0.28), 1.29, -1.0, -1.29, -1.29, False),
        (Clip(0.2, 0.28), 0.79, -1.0, -0.8, 0.0, True),
        (Clip(0.2, 0.28), 0.79, 1.0, 0.79, 0.79, False),
        (DualClip(0.2, 0.2, 3.0), 2.9, -1.0, -2.9, -2.9, False),
        (DualClip(0.2, 0.2, 3.0), 3.1, -1.0, -3.0, 0.0, True),
        (DualClip(0.2, 0.2, 3.0), 3.1, 1.0, 1.2, 0.0, True),
        (DualClip(0.2, 0.2, 3.0), 1.1, 1.0, 1.1, 1.1, False),
        (Reinforce(), 3.0, 2.0, 6.0, 6.0, False),
        (SoftGate(1.0, 1.05), 1.0, 1.0, 2.0, 1.0, False),
        (SoftGate(1.0, 1.05), 1.0, -1.0, -2 / 1.05, -1.0, False),
        (SoftGate(2.0, 1.0), 1.5, 1.0, 2 / (1 + np.exp(-1.0)), 4 * 0.196611933 * 1.5, False),
    ],
)
def test_value_slope_and_cut_of_each_surrogate(
    surrogate, ratio, advantage, value, slope, cut
) -> None:
    """The slope is that of the value by log pi, rho times the derivative by rho."""
    tokens = single([ratio], [advantage])
    found = surrogate(tokens.logprobs - tokens.old_logprobs, tokens)
    assert float(found.detach()) == pytest.approx(value)
    (gradient,) = torch.autograd.grad(found.sum(), tokens.logprobs)
    assert float(gradient) == pytest.approx(slope, abs=1e-7)
    assert activity(surrogate, tokens.logprobs - tokens.old_logprobs, tokens).tolist() == [cut]


@pytest.mark.parametrize(
    ("ratio", "weight", "capped"), [(0.1, 0.1, False), (4.9, 4.9, False), (7.0, 5.0, True)]
)
def test_cispo_caps_the_weight_and_cuts_no_gradient(ratio, weight, capped) -> None:
    tokens = single([ratio], [2.0])
    log_ratio = tokens.logprobs - tokens.old_logprobs
    value = Cispo()(log_ratio, tokens)
    (gradient,) = torch.autograd.grad(value.sum(), tokens.logprobs)
    assert float(gradient) == pytest.approx(2 * weight)
    assert Cispo().active(log_ratio, tokens).tolist() == [capped]


def test_the_sequence_ratio_is_the_geometric_mean_and_clips_a_whole_answer() -> None:
    tokens = tokens_of([2, 3], [1.0, 1.0], torch.tensor([0.2, 0.4, 0.0, -0.3, 0.6]))
    log_ratio = sequence(tokens.logprobs - tokens.old_logprobs, tokens)
    assert log_ratio.tolist() == pytest.approx([0.3, 0.3, 0.1, 0.1, 0.1])
    objective = make_objective("gspo", clip_low=0.2, clip_high=0.2)
    scored = objective.score(tokens, Extent(5, 2, 8))
    assert scored.clipped.tolist() == [True, True, False, False, False]
    (gradient,) = torch.autograd.grad(-scored.loss, tokens.logprobs)
    assert gradient[:2].tolist() == [0, 0]
    assert gradient[2:].tolist() == pytest.approx([np.exp(0.1) / (2 * 3)] * 3)


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
    assert torch.equal(per_sequence(tokens, extent), per_answer(tokens, extent))
    assert per_token(tokens, extent)[first].tolist() == pytest.approx([1 / 64] * 4)
    assert per_budget(tokens, extent)[first].tolist() == pytest.approx([1 / 256] * 4)


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_recipe_is_what_its_paper_says(recipe) -> None:
    """Credit, whitening, ratio level, surrogate, reduction and what happens without signal."""
    objective = RECIPES[recipe]
    mean, std = ("centered", False), ("standardized", False)
    expected = {
        "dr_grpo": (mean, "token", Clip(0.2, 0.28), "per_budget", "drop"),
        "grpo": (std, "token", Clip(0.2, 0.2), "per_answer", "drop"),
        "dapo": (std, "token", Clip(0.2, 0.28), "per_token", "refill"),
        "gspo": (std, "sequence", Clip(3e-4, 4e-4), "per_sequence", "drop"),
        "cispo": (std, "token", Cispo(1.0, 4.0), "per_token", "drop"),
        "sapo": (std, "token", SoftGate(1.0, 1.05), "per_answer", "drop"),
        "dual_clip": (std, "token", DualClip(0.2, 0.2, 3.0), "per_answer", "drop"),
        "maxrl": (("mean_normalized", False), "token", Clip(0.2, 0.28), "per_budget", "drop"),
        "rloo": (("leave_one_out", False), "token", Reinforce(), "per_budget", "drop"),
        "reinforce": (("raw", False), "token", Reinforce(), "per_budget", "keep"),
        "reinforce_pp": (("raw", True), "token", Clip(0.2, 0.2), "per_token", "keep"),
        "reinforce_pp_baseline": (("centered", True), "token", Clip(0.2, 0.2), "per_token", "keep"),
    }
    found = (
        (objective.credit.__name__, objective.whiten),
        objective.ratio.__name__,
        objective.surrogate,
        objective.reduce.__name__,
        objective.zero_signal,
    )
    assert found == expected[recipe]
    is_dapo = recipe == "dapo"
    assert (objective.mask_truncated, objective.overlong) == ((not is_dapo), 0.2 * is_dapo)


def test_without_a_correction_the_ratio_is_against_the_sampler_else_against_the_learner() -> None:
    tokens = replace(tokens_of([2], [1.0], 0.5), first_logprobs=torch.full((2,), -0.75).double())
    assert make_objective().log_ratio(tokens).tolist() == pytest.approx([0.5, 0.5])
    corrected = make_objective(correction="token_truncate")
    assert corrected.log_ratio(tokens).tolist() == pytest.approx([0.25, 0.25])
