"""A task of one's own in one file: what the documentation shows is what runs here."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenodds.domain import Completion
from evenodds.errors import UsageError
from evenodds.tasks import check_gold, make_task

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_python_example_is_a_task() -> None:
    task = make_task(str(EXAMPLES / "own_task.py"))
    problem = task.held_out(0)[0]
    assert task.verifier(problem, Completion(f"#{problem.answer}")).score == 1.0
    assert 0 < task.verifier(problem, Completion(f"#{problem.answer[0]}xx")).score < 1
    assert task.verifier_name.endswith("own_task.py:grade")
    check_gold(task)


def test_the_jsonl_example_is_a_task() -> None:
    task = make_task(str(EXAMPLES / "own_task.jsonl"))
    assert task.levels == ("thousands", "sixties")
    assert task.verifier_name == "number"
    assert check_gold(task).golds == 48


def test_the_examples_are_short() -> None:
    assert len((EXAMPLES / "own_task.py").read_text().splitlines()) <= 30


@pytest.mark.parametrize(
    ("text", "verifier"),
    [
        ("def problems():\n    return [(f'{n}', n) for n in range(9)]\n", "number"),
        ("def problems():\n    return [(f'{n}', 'ab' * (n + 1)) for n in range(9)]\n", "text"),
    ],
)
def test_problems_alone_are_enough(tmp_path: Path, text: str, verifier: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    task = make_task(str(tmp_path / "mine.py"))
    assert task.verifier_name == verifier
    assert task.passport()["source"] == str(tmp_path / "mine.py")
    assert len(str(task.passport()["source_sha256"])) == 64
    check_gold(task)


def test_another_verifier_may_be_named() -> None:
    task = make_task(str(EXAMPLES / "own_task.py"), verifier="number")
    assert task.verifier_name == "number"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def grade(problem, text):\n    return 1\n", "has no function 'problems'"),
        ("def problems():\n    return 1 / 0\n", "Got ZeroDivisionError"),
        ("def problems():\n    return 3\n", "could not be made"),
        ("def problems(:\n", "could not be imported"),
        ("problems = 3\n", "is not a function"),
    ],
)
def test_a_file_that_is_unfit_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(UsageError, match=words) as caught:
        make_task(str(tmp_path / "mine.py"))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line() -> None:
    with pytest.raises(UsageError, match="begins at the current folder"):
        make_task("nowhere.py")
