"""The gold answers of a task are judged before a run is spent on them."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from pathlib import Path

import pytest

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import UsageError
from evenodds.tasks import PRESETS, TASKS, check_gold, make_task, problems_task
from evenodds.tasks.data import DataTask
from evenodds.tasks.mutate import right_answer, wrong_answers
from evenodds.tasks.task import TaskOptions
from evenodds.verifiers import Kind, RegisteredVerifier

RIGHT = Verdict(1.0, Status.RIGHT)
CITIES = [(f"capital {n}?", "Paris") for n in range(6)]


def refusal(task) -> str:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError) as caught:
        check_gold(task)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(set(TASKS) - set(PRESETS)))
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
    task = make_task("reverse")
    monkeypatch.setattr(type(task), "held_out", lambda self, level: ())
    assert check_gold(task).golds == 0


def test_a_file_is_checked_too(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text("".join(f'{{"prompt": "p{n}", "answer": "x{n}!"}}\n' for n in range(5)))
    check_gold(make_task(str(file)))  # no numbers, hence judged as texts
    assert Status.GOLD_UNREADABLE.value in refusal(make_task(str(file), verifier="number"))


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


def test_unreadable_golds_are_counted_and_left_out_on_request() -> None:
    rows = [*CITIES[:2], *((f"{n}+1=", str(n + 1)) for n in range(20))]
    said = refusal(problems_task(rows))
    assert "2 of 22 golds are unreadable" in said
    assert "task.drop_unreadable = true" in said
    found = check_gold(problems_task(rows, options=TaskOptions(drop_unreadable=True)))
    assert (found.unreadable, found.golds) == (2, 20)
    assert found.task.passport()["rows_left_out"] == {"gold unreadable": 2}
    assert "2 unreadable golds left out" in str(found)
    assert check_gold(found.task).unreadable == 0


def test_a_verifier_that_pays_a_wrong_answer_is_refused() -> None:
    loose = Kind("number", "", "", lambda problem, completion, policy: RIGHT, None)
    said = refusal(replace(problems_task(CITIES), verifier=RegisteredVerifier(loose, None)))
    assert "pays the wrong answer 'Paris+1'" in said


def test_a_task_may_make_its_own_wrong_answers() -> None:
    asked: list[str] = []

    def judge(problem: Problem, completion: Completion, policy: object) -> Verdict:
        asked.append(completion.text)
        return RIGHT if completion.text == "Paris" else Verdict(0.0, Status.WRONG)

    class Own(DataTask):
        def wrong(self, problem: Problem) -> list[str]:
            return ["London", "Rome"]

    plain = problems_task(CITIES)
    values = {field.name: getattr(plain, field.name) for field in fields(plain)}
    kind = RegisteredVerifier(Kind("text", "", "", judge, None), None)
    found = check_gold(Own(**{**values, "verifier": kind}))
    assert found.wrong == 12
    assert set(asked) == {"Paris", "London", "Rome"}


def test_a_kind_whose_gold_is_a_rule_is_only_read() -> None:
    def judge(problem: Problem, completion: Completion, policy: object) -> Verdict:
        unreadable = problem.answer == "("
        return Verdict(0.0, Status.GOLD_UNREADABLE if unreadable else Status.NO_ANSWER)

    kind = RegisteredVerifier(Kind("regex", "", "", judge, None), None)
    found = check_gold(replace(problems_task(CITIES), verifier=kind))
    assert (found.golds, found.unsolved, found.wrong) == (0, 6, 0)
    broken = [(f"p{n}", "(") for n in range(3)]
    assert "3 of 3 golds" in refusal(replace(problems_task(broken), verifier=kind))


def test_a_task_that_asks_what_it_holds_out_is_refused() -> None:
    task = make_task("reverse")

    class Leaky:
        name, levels, verifier, verifier_name = "leaky", ("all",), task.verifier, "text"
        stop_strings, passport, solve = (), task.passport, task.solve

        def held_out(self, level: int) -> tuple[Problem, ...]:
            return task.held_out(3)[:1]

        def generate(self, level: int, rng: object) -> Problem:
            return task.held_out(3)[0]

    assert "asks a held-out problem in training" in refusal(Leaky())


def test_what_was_not_judged_for_lack_of_time_is_said() -> None:
    found = check_gold(problems_task([(f"{n}=", str(n)) for n in range(50)]), seconds=0.0)
    assert found.unchecked == 49
    assert "49 not checked for lack of time" in str(found)


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("number", "-3/4", "-3/5"),
        ("math", "(1,2)", "(1,3)"),
        ("math", "x", "x+1"),
        ("text", "Paris", "xaris"),
        ("choice", "(B) Rome", "(A) Rome"),
        ("json", '{"a": {"b": [1]}}', '{"a": {"b": [["changed"]]}}'),
        ("json", "true", "false"),
        ("sql", "SELECT 1", None),
    ],
)
def test_wrong_answers_look_like_the_right_one(kind: str, right: str, wrong: str | None) -> None:
    made = wrong_answers(kind, Problem("k", "p", right, "t"), right)
    assert (wrong in made) if wrong else not made
    assert right not in made


@pytest.mark.parametrize(
    ("kind", "gold", "right"),
    [
        ("number", "7", "7"),
        ("regex", "a+", None),
        ("sql", '{"schema": "", "query": "SELECT 1"}', "SELECT 1"),
        ("sql", "no", None),
        ("expression", '{"numbers": [3, 4], "target": 12}', "3*4"),
        ("expression", '{"numbers": [3, 4], "target": 99}', None),
    ],
)
def test_a_right_answer_follows_from_some_golds(kind: str, gold: str, right: str | None) -> None:
    assert right_answer(kind, gold) == right
