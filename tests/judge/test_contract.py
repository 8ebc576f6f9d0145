"""What every judge holds: the shape, the order, seconds, exact texts; a failure is data."""

from __future__ import annotations

import datetime
import decimal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evenodds.domain import Completion, Problem, Rollout, Status, Stop
from evenodds.judge import (
    InlineJudge,
    JudgeOptions,
    OpenJudge,
    ScriptedJudge,
    WorkerJudge,
    judge_rows,
    open_judge,
)
from evenodds.verifiers import as_verifier, find_verifier

OPTIONS = JudgeOptions(workers=2, seconds=20)
TEXTS = ["42", "41", "", "\0", "\ud800", "\ud83d\ude00", "\U0001f600", "x" * 2**20, '"\\\n\u2028']

FUNCTIONS = """
from evenodds.domain import Status, Verdict
import asyncio

def score(problem, text):
    if text == "41":
        raise ValueError("first\\nsecond")
    score = float(text == problem.answer)
    return Verdict(score, Status.RIGHT, str(len(text)), repr(problem.prompt))

async def waits(problem, text):
    await asyncio.sleep(0)
    return score(problem, text)

def of_a_group(completions, answer, **columns):
    return [score_one(text, gold) for text, gold in zip(completions, answer)]

def score_one(text, gold):
    text = text if isinstance(text, str) else text[0]["content"]
    if text == "41":
        return None
    return float(text == gold)
"""


def rollout(text: str, stop: Stop = Stop.END_TOKEN) -> Rollout:
    nothing = np.zeros(0, dtype=np.int64)
    return Rollout(nothing, nothing, np.zeros(0, dtype=np.float32), stop, text)


@pytest.fixture(params=["score", "waits", "of_a_group"])
def function(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    return f"{tmp_path / 'mine.py'}:{request.param}"


@pytest.fixture(params=["inline", "exec", "fork"])
def judge(request: pytest.FixtureRequest, function: str) -> Iterator[OpenJudge]:
    if request.param != "inline" and sys.platform == "win32":
        pytest.skip("judges inline there")
    verifier = find_verifier(function)
    if request.param == "fork":
        verifier.__evenodds_name__ = None  # type: ignore[attr-defined]
    opened = InlineJudge(verifier) if request.param == "inline" else open_judge(verifier, OPTIONS)
    with opened:
        yield opened


def test_every_judge_keeps_shape_and_order(judge: OpenJudge) -> None:
    problems = [Problem("a", "6*7=", "42", "t"), Problem("b", "2*3=", "6", "t")]
    groups = [[rollout("42"), rollout("41"), rollout("42", Stop.BUDGET)], [], [rollout("6")]]
    verdicts = judge.judge([problems[0], problems[0], problems[1]], groups)
    assert [[v.score for v in row] for row in verdicts] == [[1.0, 0.0, 1.0], [], [1.0]]
    assert verdicts[0][1].status is Status.ERROR
    assert "\n" not in verdicts[0][1].note
    assert all(v.seconds >= 0 for row in verdicts for v in row)
    assert judge.judge([], []) == []
    with pytest.raises(ValueError, match="zip"):
        judge.judge(problems, groups[:1])


def test_texts_arrive_as_they_are(judge: OpenJudge) -> None:
    for prompt in ("p", ({"role": "user", "content": "\ud800\udc00"},)):
        for text in TEXTS:
            problem = Problem("k", prompt, text, "t")
            (verdict,) = judge.judge([problem], [[rollout(text)]])[0]
            assert verdict.score == 1.0 or text == "41", (text[:20], verdict)
            if verdict.extracted is not None:
                assert (verdict.extracted, verdict.note) == (
                    str(len(text)),
                    repr(prompt).encode("utf-8", "replace").decode(),
                )


def test_the_scripted_judge_holds_it_too() -> None:
    script = ScriptedJudge({"b": [1.0]}, default=0.5)
    verdicts = script.judge([Problem("a", "", "", "t")] * 2, [[rollout("1")], []])
    assert [[v.score for v in row] for row in verdicts] == [[0.5], []]


def test_columns_cross_over_with_their_types(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def judge(problem, text): return {'x': 1} and repr_of(problem)\n"
        "from evenodds.domain import Status, Verdict\n"
        "def repr_of(p): return Verdict(1.0, Status.RIGHT, note=repr(dict(p.columns))[:300])\n"
    )
    columns = {
        "when": datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC),
        "day": datetime.date(2026, 1, 2),
        "price": decimal.Decimal("1.10"),
        "raw": b"\xff\0",
        "tests": [{"in": [1, 2.5, None, True]}],
    }
    pair = Problem("k", "p", "a", "t", columns=columns), Completion("a")
    (verdict,) = judge_rows(find_verifier(f"{tmp_path / 'mine.py'}:judge"), [pair], OPTIONS)
    assert verdict.note == repr(columns)
    marked = {"row": [{"\0type": "date", "text": "no"}, {"\0type": "x"}, {"\0type": [], "text": 1}]}
    looks_so = Problem("k", "p", "a", "t", columns=marked), Completion("a")
    (verdict,) = judge_rows(find_verifier(f"{tmp_path / 'mine.py'}:judge"), [looks_so], OPTIONS)
    assert verdict.note == repr(marked)
    odd = Problem("k", "p", "a", "t", columns={"values": np.arange(2), "object": Path("x")})
    circle: list[object] = []
    circle.append(circle)
    bad = Problem("k", "p", "a", "t", columns={"circle": circle})
    found = [
        *judge_rows(
            find_verifier(f"{tmp_path / 'mine.py'}:judge"),
            [(odd, Completion("a")), (bad, Completion("a")), pair],
            OPTIONS,
        )
    ]
    assert found[0].note == "{'values': [0, 1], 'object': 'x'}"
    assert (found[1].status, found[2].status) == (Status.ERROR, Status.RIGHT)
    assert found[1].note.startswith("the problem cannot be sent: ValueError")


def test_cheap_kinds_run_inline_and_functions_in_workers() -> None:
    assert isinstance(open_judge(find_verifier("number")), InlineJudge)
    own = as_verifier(lambda problem, text: True)
    with open_judge(own, OPTIONS) as judge:
        assert isinstance(judge, WorkerJudge) or sys.platform != "linux"
    assert isinstance(open_judge(own, JudgeOptions(workers=0)), InlineJudge)


@pytest.mark.skipif(sys.platform == "win32", reason="judges inline there")
def test_a_verifier_that_starts_threads_is_loaded_by_each_worker(tmp_path: Path) -> None:
    """A fork would not copy its threads: the answer comes from one."""
    (tmp_path / "mine.py").write_text(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(1)\n"
        "pool.submit(int).result()\n"
        "def judge(problem, text):\n"
        "    import os\n"
        "    if text == 'exit': os._exit(3)\n"
        "    return pool.submit(float, text).result()\n"
    )
    verifier = find_verifier(f"{tmp_path / 'mine.py'}:judge")
    texts = ["1", "exit", "0.5"]
    pairs = [(Problem("k", "p", "a", "t"), Completion(text)) for text in texts]
    verdicts = [*judge_rows(verifier, pairs, OPTIONS)]
    assert [v.score for v in verdicts] == [1.0, 0.0, 0.5]
    assert verdicts[1].note == "the verifier's process ended: exit code 3"


def test_rows_stream_in_order() -> None:
    taken: list[int] = []

    def pairs() -> Iterator[tuple[Problem, Completion]]:
        for number in range(1500):
            taken.append(number)
            yield Problem(str(number), "", str(number), "t"), Completion(str(number - number % 2))

    verdicts = judge_rows(find_verifier("number"), pairs())
    assert next(verdicts).status is Status.RIGHT
    assert len(taken) < 1500
    assert [v.score for v in verdicts] == [float(n % 2 == 0) for n in range(1, 1500)]


def test_a_verifier_that_no_process_can_load_is_an_error_not_a_hang(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def judge(problem, text): return 1\n")
    verifier = find_verifier(f"{tmp_path / 'mine.py'}:judge")
    (tmp_path / "mine.py").write_text("raise RuntimeError('gone')\n")
    pairs = [(Problem("k", "p", "a", "t"), Completion("a"))] * 3
    verdicts = [*judge_rows(verifier, pairs, OPTIONS)]
    assert {v.status for v in verdicts} == {Status.ERROR}
    assert "no process could load the verifier" in verdicts[0].note
    assert "gone" in verdicts[0].note
