"""The control task: chosen, kept outside of what is learned, and measured beside it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evenodds.domain import Limits
from evenodds.errors import UsageError
from evenodds.evaluation import EvaluationSettings
from evenodds.judge import JudgeOptions
from evenodds.policies.load import PolicyOptions, load_policy
from evenodds.run.build import evaluation_budget, evaluation_settings, limits_of
from evenodds.run.config import make_config, merge
from evenodds.run.control import (
    control_of,
    control_settings,
    held_out_of,
    opened_control,
    readable,
)
from evenodds.tasks import TASKS, make_task
from evenodds.tasks.outside import OUTSIDE
from evenodds.tasks.presets import PRESETS


def config(**over):
    return make_config(merge({}, {key.replace("__", "."): value for key, value in over.items()}))


MULTIPLICATION = make_task("multiplication")


def rows(path, prompts):
    lines = [json.dumps({"prompt": prompt, "answer": str(at)}) for at, prompt in enumerate(prompts)]
    path.write_text("\n".join(lines))
    return str(path)


def test_each_generated_task_of_the_house_has_a_control_that_is_another() -> None:
    assert set(OUTSIDE) == set(TASKS) - set(PRESETS)
    assert all(name in TASKS and name != task for task, name in OUTSIDE.items())


@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_auto_finds_a_control_that_shares_no_prompt(name: str) -> None:
    found = control_of(config(task__name=name), make_task(name), "bare")
    assert found.task is not None and found.is_auto and found.note == ""
    assert all(problem.task == OUTSIDE[name] for problem in held_out_of(found.task))


def test_what_has_no_control_says_so() -> None:
    class Own:
        name = "own"

    assert "no task is known" in control_of(config(), Own(), "bare").note
    none = control_of(config(evaluation__control="none"), MULTIPLICATION, "bare")
    assert none.task is None and "is none" in none.note


def test_a_control_can_be_named_or_be_a_file(tmp_path) -> None:
    named = control_of(config(evaluation__control="reverse"), MULTIPLICATION, "bare")
    assert named.task is not None and named.task.name == "reverse" and not named.is_auto
    path = rows(tmp_path / "c.jsonl", [f"{n}+1=" for n in range(60)])
    own = control_of(config(evaluation__control=path), MULTIPLICATION, "few_shot")
    assert own.task is not None and held_out_of(own.task)[0].prompt.endswith("+1=")


def test_a_control_that_is_what_is_learned_is_refused(tmp_path) -> None:
    named = config(evaluation__control="multiplication")
    with pytest.raises(UsageError, match="is what is learned"):
        control_of(named, MULTIPLICATION, "bare")
    path = rows(tmp_path / "c.jsonl", [f"{n}*1=" for n in range(1, 10)])
    with pytest.raises(UsageError, match="asks what is trained"):
        control_of(config(evaluation__control=path), MULTIPLICATION, "bare")
    with pytest.raises(UsageError, match="unknown task"):
        control_of(config(evaluation__control="addtion"), MULTIPLICATION, "bare")


def test_what_the_policy_cannot_read_is_left_out_only_where_nobody_named_it(tmp_path) -> None:
    policy = load_policy(PolicyOptions(name="abacus", adapter="none"))
    path = rows(tmp_path / "c.jsonl", [f"日本{n}" for n in range(40)])
    named = control_of(config(evaluation__control=path), MULTIPLICATION, "bare")
    with pytest.raises(UsageError, match="no tokens"):
        readable(named, policy, 96)

    left_out = readable(replace(named, is_auto=True), policy, 96)
    assert left_out.task is None and "cannot be asked" in left_out.note
    with pytest.raises(UsageError, match="too long"):
        short = control_of(config(evaluation__control="addition"), MULTIPLICATION, "bare")
        readable(short, policy, 10**6)


def test_few_answers_and_no_greedy_ones_are_drawn_of_it() -> None:
    own = EvaluationSettings(Limits(50, 0.7, ("\n",)), samples=8, problems=40, levels=(1,), seed=5)
    found = control_settings(config(evaluation__control_problems=7), MULTIPLICATION, own)
    assert (found.samples, found.problems, found.levels, found.greedy) == (4, 7, None, False)
    assert (found.limits.max_tokens, found.limits.temperature, found.seed) == (50, 0.7, 5)
    small = EvaluationSettings(Limits(50), samples=2, problems=3)
    found = control_settings(config(), MULTIPLICATION, small)
    assert (found.samples, found.problems) == (2, 3)


def test_its_judge_is_open_for_as_long_as_it_is_measured() -> None:
    settings = EvaluationSettings(Limits(20), samples=2, problems=2)
    beside = control_of(config(), MULTIPLICATION, "bare")
    with opened_control(config(), beside, settings, JudgeOptions(workers=0)) as control:
        assert control is not None and control.task.name == "addition"
    none = control_of(config(evaluation__control="none"), MULTIPLICATION, "bare")
    with opened_control(config(), none, settings, JudgeOptions(workers=0)) as control:
        assert control is None


def test_an_evaluation_samples_in_its_own_way() -> None:
    chosen = config(sampling__temperature=1.7, sampling__max_tokens=33)
    assert limits_of(chosen, MULTIPLICATION).temperature == 1.7
    plain = evaluation_settings(chosen, MULTIPLICATION).limits
    assert (plain.temperature, plain.max_tokens) == (1.0, 33)
    own = config(sampling__temperature=1.7, evaluation__temperature=0.6, evaluation__max_tokens=70)
    limits = evaluation_settings(own, MULTIPLICATION).limits
    assert (limits.temperature, limits.max_tokens) == (0.6, 70)
    assert evaluation_budget(own) == 70 and limits_of(own, MULTIPLICATION).max_tokens == 96


def test_a_seed_of_an_evaluation_that_training_could_have_is_refused() -> None:
    with pytest.raises(UsageError, match=r"evaluation\.seed"):
        config(evaluation__seed=2**16)


def test_texts_that_end_an_answer_come_beside_those_of_the_style() -> None:
    """In training and evaluations; the control task is asked in a style of its own."""
    chosen = make_config(merge({}, {"sampling.stop": ["</answer>", "\n"]}))
    settings = evaluation_settings(chosen, MULTIPLICATION)
    assert limits_of(chosen, MULTIPLICATION).stop_strings == ("\n", "</answer>")
    assert settings.limits.stop_strings == ("\n", "</answer>")
    assert control_settings(chosen, MULTIPLICATION, settings).limits.stop_strings == ("\n",)
    with pytest.raises(UsageError, match=r"sampling\.stop cannot be .* a text that is not empty"):
        make_config({"sampling": {"stop": ["a", ""]}})
