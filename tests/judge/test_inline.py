"""Judges give one verdict a rollout, in order, whatever the verifier does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from evenodds.domain import Completion, Problem, Rollout, Status, Stop, Verdict
from evenodds.judge import InlineJudge, Judge, ScriptedJudge
from evenodds.verifiers import find_verifier

PROBLEMS = [Problem("a", "6*7=", "42", "t"), Problem("b", "2*3=", "6", "t")]


def rollout(text: str, stop: Stop = Stop.END_TOKEN) -> Rollout:
    nothing = np.zeros(0, dtype=np.int64)
    return Rollout(nothing, nothing, np.zeros(0, dtype=np.float32), stop, text)


ROLLOUTS = [[rollout("42"), rollout("41")], [rollout("5"), rollout("6"), rollout("6", Stop.BUDGET)]]


def test_inline_judge_keeps_the_shape_and_the_order() -> None:
    judge: Judge = InlineJudge(find_verifier("number"))
    verdicts = judge.judge(PROBLEMS, ROLLOUTS)
    assert [[v.status for v in row] for row in verdicts] == [
        [Status.RIGHT, Status.WRONG],
        [Status.WRONG, Status.RIGHT, Status.TRUNCATED],
    ]


def test_an_exception_of_the_verifier_becomes_a_verdict() -> None:
    def fails(problem: Problem, completion: Completion) -> Verdict:
        raise RuntimeError("broken\nverifier")

    verdicts = InlineJudge(fails).judge(PROBLEMS, ROLLOUTS)
    assert {v.status for row in verdicts for v in row} == {Status.ERROR}
    assert verdicts[0][0].note == "RuntimeError: broken verifier"


def test_scripted_judge_pays_by_its_script() -> None:
    timeout = Verdict(0.0, Status.TIMEOUT)
    judge: Judge = ScriptedJudge({"b": [1.0, timeout]}, default=0.5)
    verdicts = judge.judge(PROBLEMS, ROLLOUTS)
    assert [v.score for v in verdicts[0]] == [0.5, 0.5]
    assert [v.status for v in verdicts[1]] == [Status.RIGHT, Status.TIMEOUT, Status.RIGHT]


@pytest.mark.parametrize("judge", [InlineJudge(find_verifier("text")), ScriptedJudge({})])
def test_problems_and_groups_must_pair_up(judge: Judge) -> None:
    with pytest.raises(ValueError, match="zip"):
        judge.judge(PROBLEMS, ROLLOUTS[:1])


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit()])
def test_an_exit_of_the_verifier_becomes_a_verdict(error: BaseException) -> None:
    def leaves(problem: Problem, completion: Completion) -> Verdict:
        raise error

    verdicts = InlineJudge(leaves).judge(PROBLEMS, ROLLOUTS)
    assert {v.status for row in verdicts for v in row} == {Status.ERROR}


def test_a_verifier_prints_to_stderr_and_warns_nobody(
    capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    def talks(problem: Problem, completion: Completion) -> Verdict:
        print("hello")
        warnings.warn("beware", stacklevel=1)
        return Verdict(1.0, Status.RIGHT)

    InlineJudge(talks).judge(PROBLEMS[:1], [ROLLOUTS[0][:1]])
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "hello\n")
    assert not recwarn.list


def test_a_verifier_cannot_change_the_problems() -> None:
    def changes(problem: Problem, completion: Completion) -> Verdict:
        object.__setattr__(problem, "answer", completion.text)
        return Verdict(1.0, Status.RIGHT)

    InlineJudge(changes).judge(PROBLEMS, ROLLOUTS)
    assert [problem.answer for problem in PROBLEMS] == ["42", "6"]
