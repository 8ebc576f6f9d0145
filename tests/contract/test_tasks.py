"""What every task promises, at every level and in every prompt style."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from evenodds.domain import Completion, Status
from evenodds.tasks import STYLES, TASKS, Task, make_task

DRAWS = 2_000


@pytest.fixture(params=sorted(TASKS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def task(name: str, style: str, tmp_path: Path) -> Task:
    if name != "data":
        return make_task(name, style=style)
    file = tmp_path / "data.jsonl"
    rows = [{"prompt": f"{n}+1=", "answer": n + 1, "level": n % 3} for n in range(120)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return make_task("data", style=style, data=str(file))


def test_the_gold_answer_is_right_at_every_level(task: Task) -> None:
    rng = np.random.default_rng(0)
    for level in range(len(task.levels)):
        problems = [task.generate(level, rng) for _ in range(20)]
        for problem in [*problems, *task.held_out(level)]:
            verdict = task.verifier(problem, Completion(task.solve(problem)))
            assert (verdict.score, verdict.status) == (1.0, Status.RIGHT)
            assert problem.answer == task.solve(problem)
            assert (problem.level, problem.task) == (level, task.name)


def test_a_mutated_gold_answer_is_wrong(task: Task) -> None:
    for level in range(len(task.levels)):
        for problem in task.held_out(level):
            mutated = Completion(task.solve(problem) + "1")
            assert task.verifier(problem, mutated).status is Status.WRONG


def test_the_same_seed_gives_the_same_problems(task: Task) -> None:
    for level in range(len(task.levels)):
        first, second = (np.random.default_rng([7, level]) for _ in range(2))
        assert [task.generate(level, first) for _ in range(10)] == [
            task.generate(level, second) for _ in range(10)
        ]


def test_training_never_meets_a_held_out_problem(task: Task) -> None:
    held = {p.key for level in range(len(task.levels)) for p in task.held_out(level)}
    rng = np.random.default_rng(1)
    for level in range(len(task.levels)):
        drawn = {task.generate(level, rng).key for _ in range(DRAWS // len(task.levels) + 1)}
        assert not drawn & held


def test_held_out_keys_are_unique_and_name_their_task(task: Task) -> None:
    keys = [p.key for level in range(len(task.levels)) for p in task.held_out(level)]
    assert len(keys) == len(set(keys))
    assert all(key.startswith(f"{task.name}/") for key in keys)


def test_every_level_has_held_out_problems(task: Task) -> None:
    assert all(task.held_out(level) for level in range(len(task.levels)))


def test_the_prompt_has_the_shape_of_its_style(task: Task, style: str) -> None:
    prompt = task.generate(0, np.random.default_rng(0)).prompt
    if style == "chat":
        assert not isinstance(prompt, str)
        assert [message["role"] for message in prompt] == ["user"]
    else:
        assert isinstance(prompt, str)
        assert not any(prompt.endswith(stop) for stop in task.stop_strings)


def test_examples_give_nothing_away(task: Task, style: str) -> None:
    """No held-out problem is among the worked examples, and no example is asked in training."""
    if style != "few_shot":
        return
    rng = np.random.default_rng(3)
    separator = task.stop_strings[0]
    for level in range(len(task.levels)):
        drawn = [task.generate(level, rng) for _ in range(50)]
        for problem in [*task.held_out(level)[:20], *drawn]:
            assert isinstance(problem.prompt, str)
            *examples, asked = problem.prompt.split(separator)
            assert len(examples) == 4
            assert f"{asked} {problem.answer}" not in examples


def test_the_passport_counts_every_level_and_is_plain_data(task: Task) -> None:
    passport = task.passport()
    assert json.loads(json.dumps(passport)) == passport
    assert {"task", "source", "licence", "split", "verifier", "levels"} <= set(passport)
    counts = passport["levels"]
    assert isinstance(counts, list)
    for level, count in enumerate(counts):
        assert count["held_out"] == len(task.held_out(level))
        assert count["training"] > 0
        assert ("note" in count) == (count["held_out"] < 100)
