"""The text verifier pays what equals the gold character for character."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop
from evenodds.verifiers.text import text


@pytest.mark.parametrize(
    ("answer", "gold", "stop", "score", "status"),
    [
        (" dcba\n", "dcba", Stop.END_TOKEN, 1.0, Status.RIGHT),
        ("a b c d\ndcba\n\n", "dcba", Stop.STOP_STRING, 1.0, Status.RIGHT),
        ("so: <answer> dcba </answer>", "dcba", Stop.END_TOKEN, 1.0, Status.RIGHT),
        ("<answer>dcba", "dcba", Stop.STOP_STRING, 1.0, Status.RIGHT),
        ("<think>abcd</think>dcba", "dcba", Stop.END_TOKEN, 1.0, Status.RIGHT),
        ("one\ntwo", "one\ntwo", Stop.END_TOKEN, 1.0, Status.RIGHT),
        ("it is dcba", "dcba", Stop.END_TOKEN, 0.0, Status.WRONG),
        ("dcba\nor abcd", "dcba", Stop.END_TOKEN, 0.0, Status.WRONG),
        ("DCBA", "dcba", Stop.END_TOKEN, 0.0, Status.WRONG),
        ("<think>dcba", "dcba", Stop.END_TOKEN, 0.0, Status.NO_ANSWER),
        ("  \n", "dcba", Stop.END_TOKEN, 0.0, Status.NO_ANSWER),
        ("dcba", "dcba", Stop.BUDGET, 0.0, Status.TRUNCATED),
        ("<answer>dcba</answer> and", "dcba", Stop.BUDGET, 1.0, Status.TRUNCATED),
        ("<answer>dcba", "dcba", Stop.BUDGET, 0.0, Status.TRUNCATED),
        ("x", " ", Stop.END_TOKEN, 0.0, Status.GOLD_UNREADABLE),
    ],
)
def test_verdicts(answer: str, gold: str, stop: Stop, score: float, status: Status) -> None:
    verdict = text(Problem("key", "prompt", gold, "task"), Completion(answer, stop))
    assert (verdict.score, verdict.status) == (score, status), verdict


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=100), st.text(max_size=20), st.sampled_from(list(Stop)))
def test_any_text_gives_a_verdict(answer: str, gold: str, stop: Stop) -> None:
    verdict = text(Problem("key", "prompt", gold, "task"), Completion(answer, stop))
    assert verdict.score in (0.0, 1.0)
