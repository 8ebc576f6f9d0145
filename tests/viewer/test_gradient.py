"""The weight of a recorded token is the gradient of the real objective, whatever the recipe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from evenodds.batch import collate
from evenodds.domain import Group, Stop
from evenodds.errors import UsageError
from evenodds.objectives import RECIPES, Tokens, make_objective, shaped
from evenodds.viewer.gradient import own_objective, pushes, recipe_objective
from tests.viewer.recorded import GOLDEN, make_answer, make_group

GOLDENS = {  # sums of the token weights of each answer, and of all their sizes
    "grpo": ("grpo", {}, [0.2357, -0.4714, 0.2357], 0.9428),
    "dr_grpo": ("dr_grpo", {}, [0.0278, -0.1389, 0.1111], 0.2778),
    "dapo": ("dapo", {"overlong": 0.0}, [0.0943, -0.4714, 0.3771], 0.9428),
    "centred": ("dapo", {"overlong": 0.0, "credit": "centered"}, [0.0444, -0.2222, 0.1778], 0.4444),
}
MOVED = [
    make_group([make_answer(r, n, i, shift=0.2, passes=2) for i, (r, n) in enumerate(rows)], number)
    for number, rows in enumerate(
        [[(1, 2), (0, 5), (1, 8)], [(0, 3), (0, 4), (0, 2)], [(0.25, 6), (1, 1), (0, 7)]]
    )
]


@pytest.mark.parametrize("name", GOLDENS)
def test_golden_token_weights(name: str) -> None:
    recipe, changes, sums, total = GOLDENS[name]
    objective = make_objective(recipe, **changes)
    found = pushes([GOLDEN], objective, objective, "first")
    weights = [found.by_place[0, place].weight for place in range(3)]
    assert [float(weight.sum()) for weight in weights] == pytest.approx(sums, abs=5e-5)
    assert sum(float(np.abs(weight).sum()) for weight in weights) == pytest.approx(total, abs=5e-5)


def by_hand(recipe: str, turn: str) -> dict[tuple[int, int], np.ndarray]:
    """d J / d log pi by autograd through `objective.score`, token by token as leaves of their own,
    each answer a tensor: nothing of the viewer's code is used."""
    objective = RECIPES[recipe]
    groups = [shaped(group.group, objective) for group in MOVED]
    batch = collate(groups, objective)
    answers = [(g.number, a, answer) for g in MOVED for a, answer in enumerate(g.answers)]
    picked = [answers[row.index] for row in batch.answers]
    stood = [a.learned if turn == "first" else a.last for _, _, a in picked]
    leaves = [torch.tensor(values, dtype=torch.float64, requires_grad=True) for values in stood]
    lengths = torch.tensor([len(leaf) for leaf in leaves])
    tokens = Tokens(
        torch.cat(leaves),
        torch.cat([torch.tensor(a.rollout.logprobs, dtype=torch.float64) for _, _, a in picked]),
        torch.cat(
            [torch.full((a.ids.size,), a.advantage, dtype=torch.float64) for a in batch.answers]
        ),
        torch.repeat_interleave(torch.arange(len(leaves)), lengths),
        lengths,
        torch.cat([torch.tensor(a.learned, dtype=torch.float64) for _, _, a in picked]),
    )
    objective.score(tokens, batch.extent).loss.backward()
    return {(g, a): -leaf.grad.numpy() for (g, a, _), leaf in zip(picked, leaves, strict=True)}


@pytest.mark.parametrize("turn", ["first", "last"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_weights_are_the_gradient_of_every_recipe(recipe: str, turn: str) -> None:
    found = pushes(MOVED, None, RECIPES[recipe], turn)
    expected = by_hand(recipe, turn)
    assert found.by_place.keys() == expected.keys() and expected
    for place, gradient in expected.items():
        np.testing.assert_allclose(found.by_place[place].weight, gradient, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("recipe", RECIPES)
def test_weights_are_the_slope_of_j(recipe: str) -> None:
    """Beside autograd, by finite differences of J itself, where a recipe is smooth there."""
    objective = RECIPES[recipe]
    if recipe in ("cispo",):  # its weight is a constant for the gradient, not for J
        return
    group, at = MOVED[0], (0, 1)
    found = pushes(MOVED, None, objective, "first").by_place[at]
    size = 1e-3

    def value(change: float) -> float:
        answer = group.answers[1]
        learned = answer.learned.astype(np.float64)
        learned[2] += change
        moved = replace(answer, learned=learned)
        answers = (group.answers[0], moved, *group.answers[2:])
        return total([replace(group, answers=answers), *MOVED[1:]], objective)

    slope = (value(size) - value(-size)) / (2 * size)
    if not found.clipped[2]:
        assert slope == pytest.approx(found.weight[2], rel=2e-3, abs=1e-9)


def total(groups, objective) -> float:
    """J of the step at the learner's log-probabilities."""
    batch = collate([shaped(group.group, objective) for group in groups], objective)
    answers = [answer for group in groups for answer in group.answers]
    picked = [answers[row.index] for row in batch.answers]
    lengths = torch.tensor([answer.rollout.ids.size for answer in picked])
    cat = [
        torch.tensor(np.concatenate(values), dtype=torch.float64)
        for values in (
            [answer.learned for answer in picked],
            [answer.rollout.logprobs for answer in picked],
            [np.full(row.ids.size, row.advantage) for row in batch.answers],
        )
    ]
    place = torch.repeat_interleave(torch.arange(len(picked)), lengths)
    tokens = Tokens(*cat, place, lengths, cat[0])
    return -float(objective.score(tokens, batch.extent).loss)


def test_a_clip_is_active_only_where_the_gradient_is_cut() -> None:
    """Ratios and advantages of the golden table: clip active at 1.35 up and .70 down alone."""
    answers = []
    for place, (reward, ratio) in enumerate([(1, 1.35), (1, 0.85), (0, 1.10), (0, 0.70)]):
        answer = make_answer(reward, 1, place)
        learned = answer.rollout.logprobs + np.log(ratio)
        answers.append(replace(answer, learned=learned.astype(np.float32)))
    found = pushes([make_group(answers)], None, make_objective("grpo"), "first")
    clipped = [bool(found.by_place[0, place].clipped[0]) for place in range(4)]
    assert clipped == [True, False, False, True]
    assert [found.by_place[0, p].weight[0] == 0 for p in range(4)] == clipped
    wide = pushes([make_group(answers)], None, recipe_objective("grpo", 0.5, 0.5), "first")
    assert not any(push.clipped.any() for push in wide.by_place.values())


def test_denominators_are_those_of_the_whole_step() -> None:
    alone = pushes(MOVED[:1], None, RECIPES["dr_grpo"], "first")
    among = pushes(MOVED, None, RECIPES["dr_grpo"], "first")
    assert (alone.extent.rollouts, among.extent.rollouts) == (3, 6)
    ratio = alone.by_place[0, 0].weight / among.by_place[0, 0].weight
    np.testing.assert_allclose(ratio, 2.0)


def test_penalties_of_the_run_are_taken_out_before_those_of_the_recipe() -> None:
    own = make_objective("dapo")
    long = make_answer(0.625, 7, 1, parts={"score": 1.0, "overlong": -0.375})
    plain = make_answer(1.0, 7, 1)
    groups = [make_group([a, make_answer(0.0, 3, 2)]) for a in (long, plain)]
    found = [
        pushes([g], o, RECIPES["dapo"], "first") for g, o in zip(groups, (own, None), strict=True)
    ]
    for place in (0, 1):
        both = [each.by_place[0, place].weight for each in found]
        np.testing.assert_array_equal(*both)


def test_answers_that_the_run_left_out_are_told_apart() -> None:
    cut = make_answer(0.0, 8, 3, kept=False, stop=Stop.BUDGET)
    group = make_group([make_answer(1.0, 2, 1), make_answer(0.0, 2, 2), cut])
    own = pushes([group], None, RECIPES["dr_grpo"], "first")
    assert (0, 2) not in own.by_place and not own.assumed
    other = pushes([group], None, RECIPES["dapo"], "first")
    assert other.assumed == {(0, 2)}
    np.testing.assert_array_equal(other.by_place[0, 2].ratio, 1.0)


def test_what_a_record_cannot_tell_is_said() -> None:
    wanted = make_objective("grpo", kl=0.04, entropy=0.01)
    bare = pushes([GOLDEN], None, wanted, "first")
    assert bare.without == "the entropy bonus and the KL, for no reference was recorded"
    kept = make_group([make_answer(r, n, n, reference=True) for r, n in ((1, 2), (0, 5))])
    with_kl = pushes([kept], None, make_objective("grpo", kl=0.04), "first")
    without = pushes([kept], None, make_objective("grpo"), "first")
    assert not with_kl.without
    gap = with_kl.by_place[0, 0].weight - without.by_place[0, 0].weight
    expected = 0.04 * (np.exp(-0.1) - 1) / 4  # k3's slope is 1 − e^ℓ; 2 answers of 2 tokens
    np.testing.assert_allclose(gap, expected, rtol=1e-4)


def test_an_objective_with_code_of_its_own_is_not_loaded(tmp_path) -> None:
    code = tmp_path / "own.py"
    code.write_text("raise SystemExit('it ran')\n")
    with pytest.raises(UsageError, match="not run here"):
        own_objective({"recipe": "grpo", "surrogate": f"{code}:mine"})
    with pytest.raises(UsageError, match="unknown recipe"):
        recipe_objective(f"{code}:mine", None, None)


def test_an_objective_that_cannot_be_read_is_one_line() -> None:
    for settings in ({"recipe": 3}, {"recipe": "grpo", "clip_low": "x"}, {"zero": 1}, {"kl": []}):
        with pytest.raises(UsageError):
            own_objective(settings)


def test_nothing_in_the_loss_is_nothing_pushed() -> None:
    group: Group = make_group([make_answer(0, 3, 1), make_answer(0, 4, 2)])
    assert pushes([group], None, RECIPES["grpo"], "first").by_place == {}
