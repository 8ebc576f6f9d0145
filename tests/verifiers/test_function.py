"""A person's own function: how it is found, what it may return, and how its failures show."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache, wraps
from pathlib import Path

import numpy as np
import pytest

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import OwnFunction, as_verifier, find_verifier
from evenodds.verifiers.function import group_of, load_function, wrap

PROBLEM = Problem("key", "prompt", "42", "task")


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Unwritten:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("result", "score", "status"),
    [
        (1, 1.0, Status.RIGHT),
        (True, 1.0, Status.RIGHT),
        (0.25, 0.25, Status.WRONG),
        (False, 0.0, Status.WRONG),
        (-1.0, -1.0, Status.WRONG),
        (np.float32(1), 1.0, Status.RIGHT),
        (None, 0.0, Status.ERROR),
        (float("nan"), 0.0, Status.ERROR),
        (float("inf"), 0.0, Status.ERROR),
        ("1", 0.0, Status.ERROR),
        ([1.0], 0.0, Status.ERROR),
        (np.ones(3), 0.0, Status.ERROR),
        (Broken(), 0.0, Status.ERROR),
        (Verdict(1.0, Status.RIGHT, note="mine"), 1.0, Status.RIGHT),
        (Verdict(float("nan"), Status.RIGHT), 0.0, Status.ERROR),
    ],
)
def test_what_a_function_may_return(result: object, score: float, status: Status) -> None:
    verdict = wrap(lambda problem, text: result)(PROBLEM, Completion("42"))  # type: ignore[arg-type, return-value]
    assert (verdict.score, verdict.status) == (score, status)
    assert "\n" not in verdict.note


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (Verdict(True, "right", 42, None, None), Verdict(1.0, Status.RIGHT, "42", "", {})),  # type: ignore[arg-type]
        (
            Verdict(np.float32(0.5), Status.WRONG, parts={"a": True, 2: np.float64(0.5)}),  # type: ignore[arg-type]
            Verdict(0.5, Status.WRONG, parts={"a": 1.0, "2": 0.5}),
        ),
        (
            Verdict(1.0, Status.RIGHT, "\ud800", "n\udfff", {"a\ud800\nb": 1.0, "k" * 999: 0.0}),
            Verdict(1.0, Status.RIGHT, "?", "n?", {"a? b": 1.0, "k" * 80: 0.0}),
        ),
        (Verdict(0.0, "error", note=3), Verdict(0.0, Status.ERROR, note="3")),  # type: ignore[arg-type]
    ],
)
def test_a_verdict_of_ones_own_gets_the_types_of_the_domain(given: Verdict, made: Verdict) -> None:
    verdict = wrap(lambda problem, text: given)(PROBLEM, Completion("42"))
    assert verdict == made
    assert isinstance(verdict.status, Status)
    assert [type(value) for value in (verdict.score, *verdict.parts.values())] == [
        float for value in (0, *made.parts)
    ]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (Verdict(1.0, "rigth"), "status 'rigth'"),  # type: ignore[arg-type]
        (Verdict(1.0, ["right"]), "status"),  # type: ignore[arg-type]
        (Verdict(1.0, None), "status None"),  # type: ignore[arg-type]
        (Verdict("1", Status.RIGHT), "score"),  # type: ignore[arg-type]
        (Verdict(1.0, Status.RIGHT, parts={"a": "x"}), "parts"),  # type: ignore[dict-item]
        (Verdict(1.0, Status.RIGHT, parts={"a": float("inf")}), "parts"),
        (Verdict(1.0, Status.RIGHT, parts=[1.0]), "parts"),  # type: ignore[arg-type]
        (Verdict(1.0, Status.RIGHT, extracted=Unwritten()), "extracted"),  # type: ignore[arg-type]
        (Verdict(1.0, Status.RIGHT, note=Unwritten()), "note"),  # type: ignore[arg-type]
    ],
)
def test_a_verdict_of_odd_values_is_an_error_of_one_line(given: Verdict, word: str) -> None:
    verdict = wrap(lambda problem, text: given)(PROBLEM, Completion("42"))
    assert (verdict.score, verdict.status) == (0.0, Status.ERROR)
    assert word in verdict.note
    assert "\n" not in verdict.note


def right(problem: Problem, text: str) -> bool:
    return text.strip() == problem.answer


@wraps(right)
def decorated(problem: Problem, text: str) -> bool:
    return right(problem, text)


@wraps(wrap(right))
def over_a_verifier(problem: Problem, text: str) -> bool:
    return right(problem, text)


@pytest.mark.parametrize("judge", [right, decorated, lru_cache(right), over_a_verifier])
def test_a_decorated_function_is_still_a_function_of_ones_own(judge) -> None:  # type: ignore[no-untyped-def]
    assert as_verifier(judge)(PROBLEM, Completion(" 42 ")).status is Status.RIGHT


def test_a_finished_verifier_stays_as_it_is() -> None:
    made = wrap(right)
    assert as_verifier(made) is made
    text = find_verifier("text")
    assert as_verifier(text) is text


def test_an_exception_is_a_verdict_of_one_line() -> None:
    def fails(problem: Problem, text: str) -> float:
        raise ValueError("first line\nsecond line")

    verdict = wrap(fails)(PROBLEM, Completion("42"))
    assert verdict.status is Status.ERROR
    assert verdict.note == "ValueError: first line second line"


def test_a_function_in_a_file_is_found(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def judge(problem, text):\n    return text.strip() == problem.answer\n")
    verifier = find_verifier(f"{file}:judge")
    assert verifier(PROBLEM, Completion(" 42 ")).status is Status.RIGHT
    assert verifier(PROBLEM, Completion("41")).status is Status.WRONG


def test_a_function_in_a_module_is_found() -> None:
    assert find_verifier("math:gcd")(PROBLEM, Completion("x")).status is Status.ERROR


def test_registered_names_are_found() -> None:
    assert find_verifier("number") == find_verifier("number")


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (None, "{file}:judge", "does not exist"),
        ("1/0", "{file}:judge", "ZeroDivisionError"),
        ("raise SystemExit(3)", "{file}:judge", "SystemExit"),
        ("async def judge(p, t): yield 1", "{file}:judge", "is an async generator"),
        ("def judge(p, t): return 1", "{file}:juge", "Did you mean 'judge'?"),
        ("x = 1", "{file}:judge", "defines no functions"),
        ("judge = 3", "{file}:judge", "is not a function"),
        ("", "{file}:", "file.py:function"),
        ("", "no.such.module:judge", "could not be imported"),
        ("", "numbr", "Did you mean 'number'?"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, content: str | None, name: str, words: str) -> None:
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError) as caught:
        find_verifier(name.format(file=file))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_interrupt_while_a_file_is_read_is_let_through(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        find_verifier(f"{tmp_path / 'mine.py'}:judge")


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit()])
def test_an_exit_is_a_verdict(error: BaseException) -> None:
    def leaves(problem: Problem, text: str) -> float:
        raise error

    assert wrap(leaves)(PROBLEM, Completion("42")).status is Status.ERROR


def test_a_function_cannot_change_the_problem() -> None:
    def changes(problem: Problem, text: str) -> bool:
        object.__setattr__(problem, "answer", text)
        problem.prompt[0]["content"] = text  # type: ignore[index]
        return True

    problem = Problem("key", ({"role": "user", "content": "a"},), "42", "task")
    assert wrap(changes)(problem, Completion("41")).status is Status.RIGHT
    assert (problem.answer, problem.prompt) == ("42", ({"role": "user", "content": "a"},))


@pytest.mark.filterwarnings("error")
def test_a_coroutine_is_an_error_without_noise() -> None:
    async def late() -> bool:
        return True

    verdict = wrap(lambda problem, text: late())(PROBLEM, Completion("42"))  # type: ignore[arg-type, return-value]
    assert verdict.status is Status.ERROR


async def late(problem: Problem, text: str) -> bool:
    await asyncio.sleep(0.02)
    if text == "broken":
        raise SystemExit(3)
    return text == problem.answer


class Late:
    async def __call__(self, problem: Problem, text: str) -> bool:
        return text == problem.answer


@pytest.mark.parametrize("function", [late, Late()])
def test_an_async_function_is_awaited(function: OwnFunction) -> None:
    verifier = wrap(function)
    assert verifier(PROBLEM, Completion("42")).status is Status.RIGHT

    async def within() -> Verdict:
        return verifier(PROBLEM, Completion("41"))

    assert asyncio.run(within()).status is Status.WRONG  # though a loop runs in this thread


def test_an_async_function_judges_a_group_at_the_same_time() -> None:
    group = group_of(wrap(late))
    assert group is not None
    started = time.perf_counter()
    verdicts = group(PROBLEM, [Completion("42"), Completion("broken")] * 32, None)
    assert time.perf_counter() - started < 0.02 * 64 / 2
    assert [v.status for v in verdicts] == [Status.RIGHT, Status.ERROR] * 32
    assert verdicts[1].note == "SystemExit: 3"


def test_a_task_may_not_be_an_async_function(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("async def rows(): return []\n")
    with pytest.raises(UsageError, match="async function"):
        load_function(f"{tmp_path / 'mine.py'}:rows")


def test_a_file_prints_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text("print('hi')\ndef judge(p, t): return 1\n")
    find_verifier(f"{tmp_path / 'mine.py'}:judge")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "hi\n")
