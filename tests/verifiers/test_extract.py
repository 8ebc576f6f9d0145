"""Each way to find an answer, by itself, and that each takes linear time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from evenodds.verifiers.extract import (
    MOST,
    Mark,
    boxes,
    hashes,
    joined,
    last_number,
    phrases,
    stated,
    tags,
)


@pytest.mark.parametrize(
    ("extract", "text", "found"),
    [
        (boxes, "\\boxed{a{b}c} \\fbox{d}", ["a{b}c", "d"]),
        (boxes, "\\boxed{\\{1\\}}", ["\\{1\\}"]),
        (boxes, "a box", []),
        (tags, "<answer>1</answer> <ANSWER>2", ["1", "2"]),
        (hashes, "#### 1\n##### no\n#### 2 #### 3", ["1", "2", "3"]),
        (phrases, "the answer is 1. The answer is: **2**. Yes", ["2**"]),
        (phrases, "Answer: we think", []),
        (last_number, "3*4=12;5+6=11", ["5+6=11"]),
        (last_number, "no digits", []),
    ],
)
def test_what_is_found(extract: Callable[[str], list[Mark]], text: str, found: list[str]) -> None:
    assert [mark.text for mark in extract(text)] == found


def test_marks_parted_by_connectors_are_one_answer() -> None:
    text = "\\boxed{1}, so \\boxed{2} and \\boxed{3}"
    assert [mark.text for mark in joined(text, boxes(text))] == ["2", "3"]
    many = boxes("\\boxed{1}, " * 9_000)
    assert len(joined("\\boxed{1}, " * 9_000, many)) == MOST


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (" 42 ", "42"),
        ("6 * 7 = 42\n#### 42", "42"),
        ("#### a heading\n#### 42", "#### a heading\n#### 42"),
        ("so \\boxed{1}, then \\boxed{ 42 }.", "42"),
        ("\\boxed{4", "\\boxed{4"),
    ],
)
def test_what_a_worked_gold_states(gold: str, answer: str) -> None:
    assert stated(gold) == answer


@pytest.mark.parametrize("extract", [boxes, tags, hashes, phrases, last_number])
@pytest.mark.parametrize("piece", ["\\boxed{", "<answer>", "####", "answer is ", "1 ", "{", "\\"])
def test_ten_times_the_text_takes_no_more_than_about_ten_times_the_time(
    extract: Callable[[str], list[Mark]], piece: str
) -> None:
    short, long = _seconds(extract, piece * 1_000), _seconds(extract, piece * 10_000)
    # linear is 10 times, quadratic is 100 times; the rest is room for a busy machine
    assert long < 40 * short + 0.05


def _seconds(extract: Callable[[str], list[Mark]], text: str) -> float:
    """The quickest of three runs, in processor time: a busy machine only ever adds to it."""
    return min(_once(extract, text) for _ in range(3))


def _once(extract: Callable[[str], list[Mark]], text: str) -> float:
    started = time.process_time()
    extract(text)
    return time.process_time() - started
