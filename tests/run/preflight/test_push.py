"""Whether the objective pushes towards what is paid is told by its own gradient."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenodds.objectives import RECIPES, make_objective
from evenodds.run.preflight.push import objective, paid_groups, push
from tests.tiny import make_group

GROUP = make_group([1.0], [7])


def groups(size: int = 8):
    return paid_groups(GROUP.problem, GROUP.rollouts[0], size)


@pytest.mark.parametrize("size", [2, 3, 16])
@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_every_recipe_pushes_towards_what_is_paid(recipe, size) -> None:
    assert objective(RECIPES[recipe], groups(size)).level == "fine"


def test_penalties_and_corrections_do_not_turn_the_push_round() -> None:
    for given in (
        {"recipe": "grpo", "kl": 1.0},
        {"recipe": "dapo", "kl": 1.0, "kl_estimator": "k2"},
        {"recipe": "dr_grpo", "entropy": 0.1, "correction": "sequence_mask"},
        {"recipe": "gspo", "overlong": 0.2, "mask_truncated": False},
    ):
        assert objective(make_objective(**given), groups()).level == "fine", given


def test_a_credit_with_the_wrong_sign_is_fatal_and_its_size_is_told() -> None:
    given = replace(RECIPES["dr_grpo"], credit=lambda rewards: rewards.mean() - rewards)
    found, moved = objective(given, groups()), push(given, groups())
    assert found.level == "fatal"
    assert moved.paid == pytest.approx(-moved.unpaid)
    assert moved.paid < 0


def test_a_loss_without_a_gradient_is_fatal() -> None:
    given = replace(RECIPES["dr_grpo"], credit=lambda rewards: 0 * rewards)
    assert "no token a gradient" in objective(given, groups()).what


def test_a_cap_that_masks_every_token_is_fatal_and_the_remedy_helps() -> None:
    masked = make_objective("dr_grpo", correction="token_mask", correction_cap=0.5)
    found = objective(masked, groups())
    assert (found.level, found.change) == ("fatal", "--objective.correction_cap 2")
    mended = make_objective("dr_grpo", correction="token_mask", correction_cap=2.0)
    assert objective(mended, groups()).level == "fine"
