"""Several parts, fragments and guesses are no single answer; a plain sentence is one."""

from __future__ import annotations

import pytest

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.verifiers.choice import choice
from evenodds.verifiers.math import judge
from evenodds.verifiers.number import number

PARTS = [
    "(a) 70 (b) 73",
    "a) 70 trees b) 73",
    "(i) 70\n(ii) 73",
    "Case 1: 70. Case 2: 73",
    "Part A: x = 70\nPart B: x = 73",
    "First answer: 70. Second answer: 73",
    "1. \\boxed{70} 2. \\boxed{73}",
    "1. \\boxed{70}\n2. \\boxed{73}",
    "Case 1: \\boxed{70}. Case 2: \\boxed{73}.",
    "Least value \\boxed{70}, greatest value \\boxed{73}",
    "The minimum is \\boxed{70} and the maximum is \\boxed{73}.",
]
NONE = [
    "73 more than y",
    "This is 73 less than k",
    "They need 73 dozen",
    "For the proof see page 73",
    "Page 73",
    "It follows from [73]",
    "The bound is known, see [73]",
    "So 73 is a factor.",
    "when n = 73",
    "for n = 73.",
    "we discard n = 73",
    "At most 73",
    "It is at least 73.",
    "up to 73",
    "Perhaps 73",
    "I have no idea, maybe it is 73",
    "70+1=73",
    "So 70 + 1 = 73.",
    "$7 \\times 10 = 73$",
    "\\boxed{70+1=73}",
]


def judged(answer: str, gold: str) -> Verdict:
    return judge(Problem("key", "?", gold, "task"), Completion(answer))


def counted(answer: str, gold: str) -> Verdict:
    return number(Problem("key", "?", gold, "task"), Completion(answer))


@pytest.mark.parametrize("answer", PARTS)
def test_one_of_several_parts_is_not_paid(answer: str) -> None:
    assert counted(answer, "73").status is Status.SEVERAL_ANSWERS, counted(answer, "73")
    assert judged(answer, "73").score == 0.0, judged(answer, "73")


@pytest.mark.parametrize("answer", NONE)
def test_a_fragment_a_guess_and_a_false_sum_are_not_paid(answer: str) -> None:
    assert judged(answer, "73").score == 0.0, judged(answer, "73")
    assert counted(answer, "73").score == 0.0, counted(answer, "73")


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("73", "(a) 73 (b) 73"),
        ("73", "1. First take 70.\n2. With three more we have 73."),
        ("73", "In case 1 we get \\boxed{70}, so the total is \\boxed{73}."),
        ("73", "It is not \\boxed{70}, it is \\boxed{73}."),
        ("73", "First answer: 70. That was wrong. Second answer: 73"),
        ("73", "She has 73 more than Tom."),
        ("73", "You need at least 73 of them."),
        ("73", "At least 73 seats are needed."),
        ("73", "He is now on page 73."),
        ("73", "On the scale we see 73"),
        ("73", "84 - 11 = 73"),
        ("73", "50% of 146 = 73"),
        ("73", "70+3=73"),
        ("73", "So 70 + 3 = 73."),
        ("73", "7 * 10 = 70 + 3 = 73"),
        ("73", "He has 5 bags and 4 times 10 + 33 = 73"),
        ("73", "<answer>The total is 73.</answer>"),
        ("73", "<answer>So we have 73 trees</answer>"),
        ("3500000", "3{,}500{,}000"),
        ("3500000", "It costs 3{,}500{,}000 dollars in all."),
    ],
)
def test_what_only_looks_like_it_is_paid(gold: str, answer: str) -> None:
    assert judged(answer, gold).score == 1.0, judged(answer, gold)
    assert counted(answer, gold).score == 1.0, counted(answer, gold)


@pytest.mark.parametrize(
    ("gold", "answer", "score"),
    [
        ("70, 73", "1. \\boxed{70} 2. \\boxed{73}", 1.0),
        ("odd", "The number is **odd**.", 1.0),
        ("concave down", "There the graph is **concave down**", 1.0),
        ("odd", "The number is not **odd**.", 0.0),
        ("odd", "The number is **even**.", 0.0),
        ("odd", "One number is **even**, the other is **odd**.", 0.0),
        ("4", "$1234 \\equiv 4 \\pmod{10}$", 1.0),
        ("4", "\\boxed{1234 \\equiv 4 \\pmod 5}", 1.0),
        ("3", "$1234 \\equiv 3 \\pmod{10}$", 0.0),
        ("4", "$x \\equiv 4 \\pmod{10}$", 0.0),
        ("73", "A: 73", 1.0),
        ("73", "<answer>The total is not 73.</answer>", 0.0),
        ("73", "<answer>The total is 73 or 74.</answer>", 0.0),
    ],
)
def test_sentences_and_congruences(gold: str, answer: str, score: float) -> None:
    assert judged(answer, gold).score == score, judged(answer, gold)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("The correct one is B", 1.0),
        ("So the statement that is true is B.", 1.0),
        ("Not A, not C; B.", 1.0),
        ("not (A), rather (B)", 1.0),
        ("The correct one is not B", 0.0),
        ("Not A, not B; C.", 0.0),
        ("Not A, not B, not C.", 0.0),
        ("not (B), rather (A)", 0.0),
    ],
)
def test_a_choice_by_what_it_is_not(answer: str, score: float) -> None:
    for kind in (choice, judge):
        verdict = kind(Problem("key", "?", "B", "task"), Completion(answer))
        assert verdict.score == score, verdict
