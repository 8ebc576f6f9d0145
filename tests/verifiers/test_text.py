"""The text verifier pays what equals the gold character for character."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import find_verifier
from evenodds.verifiers.text import Policy, text
from tests.verifiers.hostile import SMALL, slowest


def judged(answer: str, gold: str, policy: Policy) -> Verdict:
    return text(Problem("key", "prompt", gold, "task"), Completion(answer), policy)


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


NORMALIZED = Policy(compare="normalized")


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("The Eiffel Tower.", "eiffel tower", 1.0),
        ("  EIFFEL   tower!", "Eiffel Tower", 1.0),
        ("**Paris**", "Paris", 1.0),
        ("well-known", "well known", 1.0),
        ("it's", "its", 1.0),
        ("Ｐａｒｉｓ", "Paris", 1.0),
        ("café", "cafe\u0301", 1.0),
        ("STRASSE", "straße", 1.0),
        ("U.S.", "US", 1.0),
        ("Paris\u200b", "Paris", 1.0),
        ("3.14", "314", 0.0),
        ("1,234", "1234", 0.0),
        ("-5", "5", 0.0),
        ("−5", "-5", 1.0),
        (".5", "5", 0.0),
        ("10²", "102", 0.0),
        ("10²", "10^2", 1.0),
        ("50%", "50", 0.0),
        ("C++", "C", 0.0),
        ("C#", "C", 0.0),
        ("$5", "5", 0.0),
        ("a", "the", 0.0),
        ("A", "a", 1.0),
        ("?", "!", 0.0),
        ("not Paris", "Paris", 0.0),
        ("Paris or Rome", "Paris", 0.0),
        ("\u202esiraP", "Paris", 0.0),
        ("Paris " * 5_000, "Paris", 0.0),
    ],
)
def test_normalized(answer: str, gold: str, score: float) -> None:
    assert judged(answer, gold, NORMALIZED).score == score


@pytest.mark.parametrize(
    ("answer", "gold", "f1"),
    [
        ("Barack Obama", "Barack Obama", 1.0),
        ("Obama", "Barack Obama", 2 / 3),
        ("President Barack Obama", "Barack Obama", 0.8),
        ("Obama Obama", "Barack Obama", 0.5),
        ("Rome", "Paris", 0.0),
        ("not Paris", "Paris", 0.0),
        ("It isn't Paris", "Paris", 0.0),
        ("Paris", "not Paris", 0.0),
        ("Paris Rome Berlin Madrid", "Paris", 0.0),
        ("Barack Obama George Bush Bill Clinton Ronald", "Barack Obama", 0.0),
        ("北京市", "北京", 0.8),
    ],
)
def test_the_overlap_of_words(answer: str, gold: str, f1: float) -> None:
    verdict = judged(answer, gold, Policy(compare="f1", dense=True, threshold=0.8))
    assert verdict.score == pytest.approx(f1)
    assert verdict.parts["f1"] == verdict.score
    assert (verdict.status is Status.RIGHT) == (f1 >= 0.8)
    assert judged(answer, gold, Policy(compare="f1", threshold=0.8)).score == float(f1 >= 0.8)
    assert judged(answer, gold, Policy(compare="f1")).score == float(f1 == 1.0)


def test_several_golds() -> None:
    policy = Policy(golds="list")
    assert judged("NYC", '["New York", "NYC"]', policy).score == 1.0
    assert judged("Boston", '["New York", "NYC"]', policy).score == 0.0
    best = Policy(golds="list", compare="f1", dense=True)
    assert judged("New York", '["Boston", "New York City"]', best).score == pytest.approx(0.8)
    for gold in ("New York", "[]", "[1]", '[""]', '{"a": 1}', "[" * 5_000):
        assert judged("x", gold, policy).status is Status.GOLD_UNREADABLE


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("#### Paris", "Paris", 1.0),
        ("\\boxed{Paris}", "Paris", 1.0),
        ("**Answer:** Paris", "Paris", 1.0),
        ("So the final answer is Paris\nbecause of it", "Paris", 1.0),
        ("\\boxed{" + "x" * 3_000 + "}", "x" * 2_000, 0.0),
        ("\\boxed{Rome} or \\boxed{Paris}", "Paris", 0.0),
        ("The answer is not <answer>Paris</answer>", "Paris", 0.0),
        ("<answer>Paris</answer> Wait, I mean Rome.", "Paris", 0.0),
        ("<answer>Paris</answer> is wrong", "Paris", 0.0),
    ],
)
def test_other_places_of_an_answer(answer: str, gold: str, score: float) -> None:
    policy = Policy(order=("box", "answer tags", "####", "answer line", "last line"))
    assert judged(answer, gold, policy).score == score


def test_a_threshold_is_a_share() -> None:
    with pytest.raises(UsageError, match="threshold"):
        find_verifier("text", {"threshold": 0})
    assert find_verifier("text", {"compare": "f1", "threshold": 0.5})


@pytest.mark.parametrize("compare", ["exact", "normalized", "f1"])
def test_its_time_is_linear_in_the_text(compare: Literal["exact", "normalized", "f1"]) -> None:
    problem = Problem("key", "prompt", "dcba", "task")
    policy = Policy(compare=compare)
    assert slowest(lambda p, c: text(p, c, policy), problem, 1_000_000) < 2


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(SMALL) | st.text(max_size=20)).map("".join),
    st.text(max_size=20),
    st.sampled_from(["normalized", "f1"]),
)
def test_any_text_is_compared(answer: str, gold: str, compare: Literal["normalized", "f1"]) -> None:
    assert 0.0 <= judged(answer, gold, Policy(compare=compare, dense=True)).score <= 1.0
