"""What words, marks and signs around a value make of it, for the `number` verifier."""

from __future__ import annotations

import pytest

from evenodds.domain import Completion, Problem
from evenodds.verifiers.number import number


def score(answer: str, gold: str = "58") -> float:
    return number(Problem("key", "?", gold, "task"), Completion(answer)).score


@pytest.mark.parametrize(
    "answer",
    [
        "答案是58。",
        "一共58个苹果。",
        "Answer: **58** (in euros)",
        "The answer is 58 (that is, 5 tens and 8 ones).",
        "The total is 58 (not 60).",
        "She pays **$58** for 60 apples.",
        "\\boxed{\\boxed{58}}",
    ],
)
def test_what_leaves_the_value_alone(answer: str) -> None:
    assert score(answer) == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        "\\boxed{\\not= 58}",
        "\\boxed{_{58}}",
        "\\boxed{\\boxed{58}5}",
        "It is ~~58~~.",
        "The answer is log 58",
        "It is the square root of 58",
        "print(58)",
        "The answer is 58 (or 60).",
        "Suppose the answer is 58.",
        "It is at 5:58.",
    ],
)
def test_what_makes_another_value_of_it(answer: str) -> None:
    assert score(answer) == 0.0
