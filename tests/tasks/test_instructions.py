"""The task of instructions: questions that can be followed, and answers that break one of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evenodds.domain import Completion, Status
from evenodds.tasks import make_task
from evenodds.tasks.instructions import GROUPS, MOST, draw
from evenodds.verifiers.instructions.checks import RULES

DRAWS = 60


@pytest.mark.parametrize("level", range(MOST))
def test_a_level_is_how_many_instructions_are_asked(level: int) -> None:
    rng = np.random.default_rng(level)
    for _ in range(DRAWS):
        drawn = draw(level, rng)
        assert len(json.loads(drawn.gold)["instructions"]) == len(drawn.wrong) == level + 1
        assert "\n\n" not in drawn.solution
        assert drawn.question.count("Write a short text about") == 1


def test_each_wrong_answer_breaks_its_own_instruction() -> None:
    """Every instruction of the task is broken by the answer that is made to break it."""
    task, rng = make_task("instructions"), np.random.default_rng(0)
    seen: set[str] = set()
    for _ in range(200):
        problem = task.generate(MOST - 1, rng)
        entries = json.loads(problem.answer)["instructions"]
        wrong = problem.columns["wrong"]
        assert isinstance(wrong, tuple)
        for entry, answer in zip(entries, wrong, strict=True):
            verdict = task.verifier(problem, Completion(answer))
            assert verdict.status is Status.WRONG
            assert verdict.parts[entry["id"]] == 0.0, (entry, answer)
            seen.add(entry["id"])
    assert len(seen) >= len(GROUPS)
    assert seen <= set(RULES)


def test_a_share_is_paid_by_policy() -> None:
    task = make_task("instructions", policy={"score": "share"})
    problem = task.held_out(3)[0]
    assert task.verifier(problem, Completion(task.solve(problem))).score == 1.0
    assert isinstance(problem.columns["wrong"], tuple)
    broken = task.verifier(problem, Completion(problem.columns["wrong"][0]))
    assert 0.0 < broken.score < 1.0
