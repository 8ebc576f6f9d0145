"""Evaluation counts what it says it counts."""

from __future__ import annotations

import json

from evenodds.domain import Limits
from evenodds.evaluation import EvaluationSettings, evaluate
from evenodds.judge import InlineJudge
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.tasks import make_task

TASK = make_task("multiplication")
SETTINGS = EvaluationSettings(limits=Limits(20), samples=4, problems=5)


def product(prompt: str) -> str:
    a, b = prompt.rstrip("=").split("*")
    return str(int(a) * int(b))


def run(script, settings=SETTINGS):
    return evaluate("fake", ScriptedSampler(script), InlineJudge(TASK.verifier), TASK, settings)


def test_a_perfect_policy_solves_every_held_out_problem() -> None:
    found = run(lambda prompt, rng: product(prompt))
    assert [level.label for level in found.levels] == list(TASK.levels)
    for number, level in enumerate(found.levels):
        assert [p.key for p in level.problems] == [p.key for p in TASK.held_out(number)[:5]]
        assert all((p.right, p.tries, p.greedy_right) == (4, 4, True) for p in level.problems)


def test_tries_right_and_truncated_are_counted_by_problem() -> None:
    found = run(lambda prompt, rng: product(prompt) if rng.random() < 0.5 else "9" * 40)
    problems = [p for level in found.levels for p in level.problems]
    assert all(p.right + p.truncated == 4 for p in problems)
    assert 0.4 < sum(p.right for p in problems) / sum(p.tries for p in problems) < 0.6


def test_without_greedy_there_is_none() -> None:
    settings = EvaluationSettings(limits=Limits(20), samples=2, problems=2, greedy=False)
    found = run(lambda prompt, rng: "1", settings)
    assert all(p.greedy_right is None for level in found.levels for p in level.problems)


def test_the_record_is_plain_json_with_its_settings() -> None:
    record = json.loads(json.dumps(run(lambda prompt, rng: "1").to_dict()))
    assert record["settings"] == {
        "samples": 4,
        "problems": 5,
        "levels": None,
        "greedy": True,
        "seed": 1234,
        "max_tokens": 20,
        "temperature": 1.0,
        "stop_strings": [],
    }
    assert record["levels"][3]["problems"][0]["tries"] == 4
