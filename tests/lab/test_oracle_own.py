"""The oracle on an objective that has no closed form: beside the true gradient."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from evenodds.cli import main
from evenodds.errors import UsageError
from evenodds.lab.oracle import cases, check, forms, look, own_cases, told
from evenodds.objectives import RECIPES, Objective, make_objective
from evenodds.objectives.correction import Correction, mask
from evenodds.objectives.penalty import KL
from evenodds.objectives.surrogate import Reinforce

pytestmark = pytest.mark.usefixtures("no_shapes")

OWN = """
import torch
from evenodds.objectives import Objective

def right(log_ratio, tokens):
    return tokens.advantages * log_ratio.exp()

def wrong(log_ratio, tokens):
    return -tokens.advantages * log_ratio.exp()

def flat(log_ratio, tokens):
    return tokens.advantages * log_ratio**2

def geometric(log_ratio, tokens):
    total = torch.zeros(len(tokens.lengths)).index_add(0, tokens.rollout, log_ratio)
    return (total / tokens.lengths)[tokens.rollout]

mine = Objective(surrogate=right)
"""


@pytest.fixture
def own(tmp_path) -> str:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return str(file)


def oracle(*words: str) -> int:
    return main(["lab", "oracle", "--quick", *words])


def rows_of(objective: Objective):
    return [look(case) for case in own_cases("mine", objective, quick=True)]


def on_policy(objective: Objective):
    return [row for row in rows_of(objective) if row.case.world.where == "on"]


def test_dr_grpo_by_this_road_is_a_factor() -> None:
    """By hand: 0 degrees, two thirds at G = 3 and three quarters at G = 4."""
    rows = rows_of(RECIPES["dr_grpo"])
    places = [(row.case.world.name, row.case.world.where, row.case.sizes) for row in rows]
    assert places == [
        ("tabular", "on", (3,)),
        ("tabular", "off", (3,)),
        ("GRU", "on", (4,)),
        ("GRU", "off", (4,)),
    ]
    table, net = on_policy(RECIPES["dr_grpo"])
    assert max(table.angle, net.angle) < 1e-6
    assert table.ratio == pytest.approx(2 / 3, abs=1e-12)
    assert net.ratio == pytest.approx(3 / 4, abs=1e-12)
    assert all(row.verdict == "–" and row.is_ok for row in rows)
    assert list(told(rows)) == [
        "on-policy (table, G = 3): it goes with the gradient: 0.0°, 0.667 of it",
        "on-policy (GRU, G = 4): it goes with the gradient: 0.0°, 0.750 of it",
    ]


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_recipe_is_the_same_on_both_roads(recipe: str) -> None:
    """The aim, the projection and the clipped shares are those of the row with a closed form."""
    for row in rows_of(RECIPES[recipe]):
        if row.case.name == "mine":
            proven = check(forms.recipe_case(recipe, row.case.world, row.case.sizes[0]))
            for name in ("aim", "length", "ratio", "spread", "clipped"):
                assert getattr(row, name) == pytest.approx(getattr(proven, name), rel=1e-12), name
            assert row.angle == pytest.approx(proven.angle, abs=1e-6)
        assert row.is_ok  # no recipe goes against the gradient on-policy


def test_a_wrong_sign_ends_with_3(own, capsys) -> None:
    assert oracle("--objective.surrogate", f"{own}:wrong") == 3
    captured = capsys.readouterr()
    assert "it goes AGAINST the gradient: 180.0°, -0.667 of it" in captured.out
    assert captured.out.count("FAILS") == 2
    assert captured.err.count("\n") == 1 and "(tabular, on): goes AGAINST" in captured.err
    assert oracle("--objective.surrogate", f"{own}:right") == 0


def test_a_penalty_cannot_hide_a_wrong_sign(own, capsys) -> None:
    words = ("--objective.surrogate", f"{own}:wrong", "--objective.kl", "5")
    assert oracle(*words) == 3
    out = capsys.readouterr().out
    assert "without its penalties: it goes AGAINST the gradient: 180.0°" in out
    assert "on-policy (GRU, G = 4): it goes at 7.0° to the gradient" in out
    assert oracle("--objective", "dr_grpo", "--objective.kl", "5") == 0


def test_penalties_are_part_of_the_aim() -> None:
    """rloo with the KL in the reward has the gradient of both, exactly; without it, of one."""
    kept = replace(RECIPES["rloo"], kl_reward=0.5, zero_signal="keep")
    rows = on_policy(kept)
    assert [row.case.name for row in rows] == ["mine"] * 2 + ["without its penalties"] * 2
    for row in rows:
        assert row.angle < 1e-6 and row.ratio == pytest.approx(1.0, abs=1e-12)
    assert rows[0].aim != pytest.approx(rows[2].aim, rel=0.01)
    weighted = replace(RECIPES["rloo"], kl_loss=KL(0.5, "k3", weighted=True), zero_signal="keep")
    assert 0.1 < on_policy(weighted)[0].angle < 10  # visits held fixed


def test_an_objective_that_teaches_nothing_ends_with_3(own, capsys) -> None:
    assert oracle("--objective.surrogate", f"{own}:flat") == 3
    assert "has no gradient at all" in capsys.readouterr().out


def test_a_ratio_of_answers_of_ones_own(own, capsys) -> None:
    """It is GSPO again: what a person makes is float64 as all else, and the numbers agree."""
    ratio = make_objective("gspo", ratio=f"{own}:geometric", reduce="per_answer")
    for mine, house in zip(rows_of(ratio), rows_of(RECIPES["gspo"]), strict=True):
        assert mine.ratio == pytest.approx(house.ratio, rel=1e-12)
        assert mine.clipped == pytest.approx(house.clipped, rel=1e-12)
    assert torch.get_default_dtype() == torch.float32
    words = ("--objective.ratio", f"{own}:geometric", "--objective.reduce", "per_answer")
    assert oracle("--objective", "gspo", *words) == 0
    assert "ratio geometric" in capsys.readouterr().out
    assert oracle("--objective", "gspo") == 0


def test_a_function_that_works_in_float32_is_no_error() -> None:
    def single(log_ratio, tokens):
        return tokens.advantages.float() * log_ratio.float().exp()

    for row in on_policy(Objective(surrogate=single)):
        assert row.is_ok and row.angle < 1e-3


def test_a_gradient_that_is_not_finite_fails_off_policy_too() -> None:
    def far(log_ratio, tokens):
        scale = torch.where(log_ratio.detach() > 0.3, math.nan, 1.0)
        return scale * tokens.advantages * log_ratio

    rows = rows_of(Objective(surrogate=far))
    assert [row.verdict for row in rows] == ["–", "FAILS", "–", "FAILS"]
    assert rows[1].failures == ("has a gradient that is not finite",)


def test_a_function_that_raises_is_named() -> None:
    def small(rewards):
        raise KeyError("two at most")

    with pytest.raises(UsageError, match=r"mine failed .*tabular, on.* 'two at most'"):
        rows_of(Objective(credit=small))
    assert torch.get_default_dtype() == torch.float32


def test_a_correction_is_seen_at_work() -> None:
    """Where it has nothing to correct it changes nothing; with another sampler it does."""
    masked = replace(RECIPES["dr_grpo"], surrogate=Reinforce(), correction=Correction(mask, 1.1))
    rows = rows_of(masked)
    assert [row.case.world.where for row in rows] == ["on", "off", "on", "off", "sampler"]
    assert rows[0].ratio == pytest.approx(2 / 3, abs=1e-12)
    plain = replace(masked, correction=None)
    assert rows_of(plain)[1].ratio == pytest.approx(rows[1].ratio, rel=1e-12)
    assert rows[4].angle > 5


def test_the_full_table_has_two_letters() -> None:
    found = list(own_cases("mine", RECIPES["dr_grpo"]))
    letters = [(case.world.tree.letters, case.world.tree.budget, *case.sizes) for case in found]
    assert letters == [(2, 3, 3), (2, 3, 3), (2, 2, 4), (2, 2, 4)]


def test_a_config_and_a_whole_objective(own, tmp_path, capsys) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('[objective]\nrecipe = "grpo"\nreduce = "per_token"\n')
    assert oracle(str(config)) == 0
    out = capsys.readouterr().out
    assert "grpo, reduce per_token" in out and "reduce per_token, truncated" in out
    assert "no closed form" in out and all(line == line.rstrip() for line in out.splitlines())
    target = tmp_path / "table.md"
    assert oracle("--objective", f"{own}:mine", "--markdown", str(target)) == 0
    assert "own.py:mine" in capsys.readouterr().out
    assert "| own.py:mine | table | on | 3 |" in target.read_text()


def test_recipe_and_objective_are_two_things(own, capsys) -> None:
    assert oracle("--recipe", f"{own}:mine") == 2
    assert "Use --objective" in capsys.readouterr().err
    assert oracle("--recipe", "grpo", "--objective.reduce", "per_token") == 2
    assert "Use --objective in its place" in capsys.readouterr().err
    assert oracle("--objective", "grop") == 2
    assert "Did you mean 'grpo'?" in capsys.readouterr().err
    assert oracle("--objective.surrogate", f"{own}:fading") == 2


def test_the_aim_is_that_of_the_proven_rows() -> None:
    """Entropy and overlong, each taken out of the objective where it is judged."""
    proven = {case.name: case for case in cases(quick=True) if case.world.where == "on"}
    for name in ("dr_grpo, entropy, drop", "soft overlong, rloo"):
        found = on_policy(proven[name].objective)
        assert [row.case.name for row in found[2:]] == ["without its penalties"] * 2
        assert found[0].case.aim == pytest.approx(proven[name].aim, abs=1e-15)


def test_a_loss_in_float32_is_no_error() -> None:
    def single(log_ratio, tokens):
        return tokens.advantages.float() * log_ratio.float().exp()

    def weight(tokens, extent):
        return torch.full_like(tokens.advantages, 1 / extent.tokens, dtype=torch.float32)

    assert all(row.is_ok for row in on_policy(Objective(surrogate=single, reduce=weight)))
