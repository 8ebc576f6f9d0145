"""What docs/trl.md tells people who come from TRL: its one whole file is what it says it is."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenodds.credit import standardized_sample
from evenodds.errors import FOREIGN, FOREIGN_RECIPES, UsageError, nearest
from evenodds.objectives import RECIPES, make_objective
from evenodds.objectives.surrogate import Clip
from evenodds.run.build import objective_of
from evenodds.run.config import fields, make_config
from tests.golden import trl_ours as ours

GUIDE = (Path(__file__).parents[2] / "docs" / "trl.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    section = GUIDE.split("## Coming from TRL")[1]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found.group(1)


def theirs() -> dict[str, Any]:
    call = ast.parse(block("python"), mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}


def test_the_file_in_the_guide_is_the_objective_that_is_held_against_trl() -> None:
    objective = objective_of(make_config(tomllib.loads(block("toml"))))
    proven = ours.objective_of("dapo, weighted KL")
    assert proven.kl_loss is not None
    assert objective == replace(proven, kl_loss=replace(proven.kl_loss, coefficient=0.04))
    assert objective.credit is standardized_sample
    assert (objective.zero_signal, objective.mask_truncated, objective.overlong) == (
        "keep",
        False,
        0,
    )


def test_the_file_has_the_numbers_of_the_configuration_beside_it() -> None:
    config, trl = make_config(tomllib.loads(block("toml"))), theirs()
    objective = objective_of(config)
    assert config.objective.recipe == trl["loss_type"]
    assert objective.surrogate == Clip(trl["epsilon"], trl["epsilon_high"])
    assert objective.kl_loss is not None
    assert (objective.kl_loss.coefficient, objective.kl_loss.weighted) == (trl["beta"], True)
    assert config.sampling.group_size == trl["num_generations"]
    answers = trl["per_device_train_batch_size"] * trl["gradient_accumulation_steps"]
    assert config.sampling.groups * config.sampling.group_size == answers
    assert config.sampling.max_tokens == trl["max_completion_length"]
    assert config.sampling.temperature == trl["temperature"]
    learner = config.learner
    assert learner.learning_rate == trl["learning_rate"]
    assert (learner.beta2, learner.max_grad_norm) == (trl["adam_beta2"], trl["max_grad_norm"])
    assert (learner.warmup_steps, trl["lr_scheduler_type"]) == (0, "constant")
    assert config.run.steps == trl["max_steps"]


def test_foreign_names_lead_to_settings_that_there_are() -> None:
    assert set(FOREIGN.values()) <= {*fields()}
    assert not {name for name in FOREIGN if name in fields()}
    assert not {*FOREIGN_RECIPES} & {*RECIPES}


@pytest.mark.parametrize(
    ("section", "theirs", "ours_"),
    [
        ("objective", "beta", "objective.kl"),
        ("objective", "epsilon", "objective.clip_low"),
        ("objective", "epsilon_high", "objective.clip_high"),
        ("objective", "delta", "objective.dual_clip"),
        ("objective", "loss_type", "objective.recipe"),
        ("sampling", "num_generations", "sampling.group_size"),
        ("objective", "num_generations", "sampling.group_size"),
        ("sampling", "max_completion_length", "sampling.max_tokens"),
        ("learner", "num_iterations", "learner.passes"),
        ("objective", "scale_rewards", "objective.credit"),
        ("objective", "importance_sampling_level", "objective.ratio"),
        ("run", "max_steps", "run.steps"),
        ("sampling", "learning_rate", "learner.learning_rate"),  # ours, in another section
    ],
)
def test_a_foreign_name_in_a_file_is_translated(section, theirs, ours_) -> None:
    with pytest.raises(UsageError, match=f"Did you mean {ours_!r}") as said:
        make_config({section: {theirs: 1}})
    assert f"unknown setting '{section}.{theirs}'" in str(said.value)
    assert "\n" not in str(said.value)


def test_a_foreign_name_outside_any_section_is_translated_too() -> None:
    for name in ("beta", "actor_rollout_ref.rollout.n", "rollout.n", "--num-generations"):
        expected = "objective.kl" if name == "beta" else "sampling.group_size"
        assert f"Did you mean '{expected}'" in nearest(name, fields())
    with pytest.raises(UsageError, match=r"Did you mean 'objective\.kl'"):
        make_config({"beta": 0.1})
    with pytest.raises(UsageError, match="Did you mean 'kl'"):
        make_objective("grpo", beta=0.1)


def test_a_foreign_name_says_nothing_where_ours_is_no_choice() -> None:
    assert nearest("beta", ["alpha", "gamma"]) == "Choose one of: alpha, gamma."
    assert nearest("n", ["group_size"]) == "Choose one of: group_size."


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ("bnpo", "TRL's bnpo is grpo with objective.reduce per_token: see docs/trl.md."),
        ("luspo", "TRL's luspo takes a ratio and a reduction of your own: see docs/trl.md."),
        ("vespo", "TRL's vespo takes a surrogate of your own"),
    ],
)
def test_a_loss_of_trl_that_is_no_recipe_is_told_how_it_is_had(recipe, words) -> None:
    with pytest.raises(UsageError, match=words) as said:
        make_objective(recipe)
    assert "Did you mean" not in str(said.value)
    assert words.split(" takes")[0] not in nearest(recipe, ["clip", "cispo"])
