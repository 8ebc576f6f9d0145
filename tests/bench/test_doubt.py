"""The second reader: simple, independent, and only asked where a person may look."""

from __future__ import annotations

import pytest

from evenodds.bench.doubt import objection
from evenodds.domain import Status, Verdict

RIGHT, WRONG = Verdict(1.0, Status.RIGHT), Verdict(0.0, Status.WRONG)


@pytest.mark.parametrize(
    ("gold", "text", "verdict", "why"),
    [
        ("42", "6*7 = 42", RIGHT, ""),
        ("42", "six sevens\n42\n", RIGHT, ""),
        ("1000", "it is 1,000.0", RIGHT, ""),
        ("0.5", "1/2", RIGHT, ""),
        ("42", "I pay myself", RIGHT, "paid, but the gold stands nowhere in the text"),
        ("42", "42\nbut that is not it", RIGHT, "paid, but the gold is not in the last line"),
        ("42", "the answer is 42.", WRONG, "not paid, but the last line ends with the gold"),
        ("42", "the answer is 41", WRONG, ""),
        ("B", "I choose B", WRONG, "not paid, but the last line ends with the gold"),
        ("Paris", "It is paris", RIGHT, ""),
        ("", "", WRONG, ""),
        ("7", "\ud800\x00" * 10, WRONG, ""),
        ("7", "7", Verdict(0.0, Status.TIMEOUT), "it could not be judged"),
    ],
)
def test_objections(gold, text, verdict, why) -> None:
    assert objection(gold, text, verdict) == why


@pytest.mark.timeout(10)
def test_huge_texts_take_no_time() -> None:
    for text in ("7" * 10**6, "\n" * 10**6, ("x " * 10**6), "1/" * 500_000):
        objection("7", text, WRONG)
        objection("7", text, RIGHT)
