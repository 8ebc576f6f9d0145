"""The gold answers of a task are judged before a run is spent on them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import UsageError
from evenodds.tasks import TASKS, check_gold, make_task, problems_task

CITIES = [(f"capital {n}?", "Paris") for n in range(6)]


def refusal(task) -> str:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError) as caught:
        check_gold(task)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"data"}))
def test_our_own_tasks_pass(name: str) -> None:
    check_gold(make_task(name))


def test_text_answers_under_the_number_verifier_are_refused() -> None:
    said = refusal(problems_task(CITIES))
    assert all(word in said for word in ("'number'", "'Paris'", "capital", "gold_unreadable"))
    assert "--verifier (text" in said
    check_gold(problems_task(CITIES, "text"))


def test_every_level_is_checked_and_only_so_many_problems() -> None:
    problems = [Problem(f"own/{n}", f"p{n}", "7", "own", level=n % 2) for n in range(40)]
    problems = [replace(p, answer="x") if p.level else p for p in problems]
    assert "'level 1'" in refusal(problems_task(problems))
    check_gold(problems_task(problems), per_level=0)


def test_a_function_of_ones_own_may_find_the_bare_gold_wrong() -> None:
    check_gold(problems_task(CITIES, lambda problem, text: text.startswith("Answer:")))


def test_it_may_do_so_whatever_its_name_is() -> None:
    def number(problem: Problem, text: str) -> bool:
        return text.startswith("Answer:")

    check_gold(problems_task(CITIES, number))


def test_a_function_that_cannot_judge_is_refused_with_its_note() -> None:
    def fails(problem: Problem, text: str) -> float:
        raise KeyError("colour\nand more")

    said = refusal(problems_task(CITIES, fails))
    assert "KeyError" in said
    assert "error" in said
    assert "Mend the function" in said
    assert "None" in refusal(problems_task(CITIES, lambda problem, text: None))


def test_a_task_whose_verifier_raises_or_returns_no_verdict_is_refused() -> None:
    def raises(problem: Problem, completion: Completion) -> Verdict:
        raise ValueError("no")

    task = problems_task(CITIES)
    assert "ValueError: no" in refusal(replace(task, verifier=raises, verifier_name="mine"))
    returns = lambda problem, completion: True  # noqa: E731
    assert "a bool" in refusal(replace(task, verifier=returns, verifier_name="mine"))


def test_levels_without_held_out_problems_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    task = problems_task(CITIES)
    monkeypatch.setattr(type(task), "held_out", lambda self, level: ())
    check_gold(task)


def test_a_file_is_checked_too(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text("".join(f'{{"prompt": "p{n}", "answer": "x{n}!"}}\n' for n in range(5)))
    assert Status.GOLD_UNREADABLE.value in refusal(make_task(str(file)))


def test_a_function_that_exits_is_refused() -> None:
    def leaves(problem: Problem, text: str) -> float:
        raise SystemExit(3)

    task = replace(problems_task(CITIES), verifier=leaves, verifier_name="mine")
    assert "SystemExit: 3" in refusal(task)


@pytest.mark.parametrize("score", [5, -1])
def test_a_score_outside_its_range_for_the_gold_is_refused(score: float) -> None:
    said = refusal(problems_task(CITIES, lambda problem, text: score))
    assert f"returned {score} for the gold answer 'Paris'; a score lies between 0 and 1" in said


def test_a_slow_function_is_not_asked_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenodds.tasks.check.SECONDS", 0.01)
    asked: list[str] = []

    def slow(problem: Problem, text: str) -> bool:
        asked.append(text)
        time.sleep(0.02)
        return True

    problems = [Problem(f"own/{n}", f"p{n}", "7", "own", level=n % 3) for n in range(40)]
    check_gold(problems_task(problems, slow))
    assert len(asked) == 1
