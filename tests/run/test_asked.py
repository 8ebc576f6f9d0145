"""The sum of the problems that a task asks, and what a resume says where it is another."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from evenodds.domain import Problem
from evenodds.errors import UsageError
from evenodds.run import asked
from evenodds.run.asked import is_another, is_same_twice, problems_sum
from evenodds.run.folder import RunFolder
from evenodds.run.passports import data_passport, require_same_code
from evenodds.run.preflight.problems import same_twice
from evenodds.tasks import Task, make_task, problems_task
from evenodds.verifiers import find_verifier

ROWS = [(f"{a}+{b}=", str(a + b)) for a in range(10) for b in range(10)]


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "SECONDS", 1e9)  # a busy machine must not decide what is drawn


class Sums:
    """A task of a person's own. chance: whether it draws past the rng that it is given."""

    name, levels, stop_strings = "sums", ("small", "large"), ()
    verifier, verifier_name = find_verifier("number"), "number"

    def __init__(self, most: int = 9, chance: bool = False) -> None:
        self.most, self.chance = most, chance

    def generate(self, level: int, rng: np.random.Generator) -> Problem:
        more = random.randrange(10**6) if self.chance else 0
        one, two = int(rng.integers(100, 100 + self.most)), more + level
        return Problem(f"{one}+{two}", f"{one}+{two}=", str(one + two), "sums", level)

    def held_out(self, level: int) -> tuple[Problem, ...]:
        return tuple(
            Problem(f"{a}+{level}", f"{a}+{level}=", str(a + level), "sums", level)
            for a in range(9)
        )

    def solve(self, problem: Problem) -> str:
        return problem.answer

    def passport(self) -> dict[str, object]:
        return {"task": "sums"}


def test_the_same_task_has_the_same_sum_and_another_has_another() -> None:
    for task in (Sums(), problems_task(ROWS, "number"), make_task("multiplication")):
        found = problems_sum(task)
        assert found["drawn"] == 8 and found == problems_sum(task)
        assert not is_another(found, task) and is_same_twice(task, 0)
    assert is_another(problems_sum(Sums()), Sums(most=50))
    known = problems_sum(problems_task(ROWS, "number"))
    for row in range(0, len(ROWS), 3):  # of problems that were given every one counts
        changed = [*ROWS[:row], (ROWS[row][0], "-1"), *ROWS[row + 1 :]]
        assert is_another(known, problems_task(changed, "number")), row


def test_columns_count_where_they_are_plain() -> None:
    def task(**columns: object) -> Task:
        rows = [Problem(key, key, "1", "t", columns=columns) for key in "abcd"]
        return problems_task(rows, "number")

    def differ(one: dict, two: dict) -> bool:
        return is_another(problems_sum(task(**one)), task(**two))

    assert differ({"n": 1}, {"n": 2}) and not differ({"o": object()}, {"o": object()})


def test_a_task_that_draws_by_chance_has_no_sum_and_is_told() -> None:
    task = Sums(chance=True)
    found = problems_sum(task)
    assert found["sha256"] is None and not is_another(found, task)
    told = same_twice(task, 0)
    assert told is not None and (told.name, told.level) == ("problems", "warning")
    assert same_twice(Sums(), 0) is None


def test_what_older_runs_or_strangers_wrote_is_no_other_sum() -> None:
    for known in ({}, {"sha256": 1, "drawn": 8}, {"sha256": "x", "drawn": "y"}, {"sha256": "x"}):
        assert not is_another(known, Sums())


def test_a_run_goes_on_only_with_the_problems_that_it_began_with(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.data.parent.mkdir()
    folder.data.write_text(json.dumps(data_passport(Sums())))
    require_same_code(folder, Sums(), {})
    with pytest.raises(UsageError, match="began with other problems than the task 'sums' gives"):
        require_same_code(folder, Sums(most=50), {})
    folder.data.unlink()  # which is how one goes on all the same
    require_same_code(folder, Sums(most=50), {})
