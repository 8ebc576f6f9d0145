"""Where a final answer stands, and the verdicts where it does not."""

from __future__ import annotations

import pytest

from evenodds.domain import Completion, Status, Stop, Verdict
from evenodds.verifiers.extract import Mark
from evenodds.verifiers.verdicts import (
    PLACES,
    Place,
    final_answer,
    find,
    gold_unreadable,
    paid,
    spellings,
    unpaid,
)

ALL: tuple[Place, ...] = ("box", "answer tags", "####", "answer line", "last line")


@pytest.mark.parametrize(
    ("text", "how", "answer"),
    [
        ("<answer>b</answer> \\boxed{ a }", "box", "a"),
        ("#### b\n<answer> a </answer>", "answer tags", "a"),
        ("Answer: b\n#### a", "####", "a"),
        ("Answer: a\nb", "answer line", "a"),
        ("**Answer:** a", "answer line", "a"),
        ("Final answer: a", "answer line", "a"),
        ("After some work, the answer is a", "answer line", "a"),
        ("So my final answer is: a", "answer line", "a"),
        ("b\n a \n\n", "last line", "a"),
        ("<think>\\boxed{b}</think>a", "last line", "a"),
    ],
)
def test_the_first_place_that_is_there(text: str, how: str, answer: str) -> None:
    found = final_answer(Completion(text), ALL)
    assert isinstance(found, Mark), found
    assert (found.how, found.text) == (how, answer)


@pytest.mark.parametrize(
    ("text", "stop", "status"),
    [
        ("", Stop.END_TOKEN, Status.NO_ANSWER),
        ("<think>a", Stop.END_TOKEN, Status.NO_ANSWER),
        ("\\boxed{a", Stop.END_TOKEN, Status.NO_ANSWER),
        ("\\boxed{ }", Stop.END_TOKEN, Status.NO_ANSWER),
        ("\\boxed{" + "a" * 2_000 + "}", Stop.END_TOKEN, Status.NO_ANSWER),
        ("<answer></answer>", Stop.END_TOKEN, Status.NO_ANSWER),
        ("\\boxed{a} or \\boxed{b}", Stop.END_TOKEN, Status.SEVERAL_ANSWERS),
        ("not \\boxed{a}", Stop.END_TOKEN, Status.WRONG),
        ("\\boxed{a}. Scratch that.", Stop.END_TOKEN, Status.WRONG),
        ("\u202ea", Stop.END_TOKEN, Status.WRONG),
        ("a", Stop.BUDGET, Status.TRUNCATED),
        ("<answer>a", Stop.BUDGET, Status.TRUNCATED),
        ("Answer: a", Stop.BUDGET, Status.TRUNCATED),
        ("not \\boxed{a}", Stop.BUDGET, Status.TRUNCATED),
    ],
)
def test_no_answer_that_stands(text: str, stop: Stop, status: Status) -> None:
    found = final_answer(Completion(text, stop), ALL)
    assert isinstance(found, Verdict)
    assert (found.score, found.status) == (0.0, status), found


@pytest.mark.parametrize("text", ["\\boxed{a}", "<answer>a</answer>", "#### a\n", "Answer: a\nso"])
def test_a_complete_answer_of_a_cut_text(text: str) -> None:
    found = final_answer(Completion(text, Stop.BUDGET), ALL)
    assert isinstance(found, Mark), found


def test_places_that_are_not_listed_are_not_read() -> None:
    assert find("\\boxed{a}\nb", ("last line",))[-1].text == "b"
    assert find("a\nb", ("whole text",))[-1].text == "a\nb"
    assert find("a", ("box",)) == []
    assert not any(read("  \n ") for read in PLACES.values())


def test_spellings_of_a_sentence() -> None:
    assert spellings(Mark("**a.**", "answer line", 0, 6)) == ("**a.**", "a.", "a")
    assert spellings(Mark("a.", "box", 0, 2)) == ("a.",)


def test_verdicts_keep_the_end_of_the_completion() -> None:
    whole, cut = Completion("a"), Completion("a", Stop.BUDGET)
    assert paid(whole, "a", "n").status is Status.RIGHT
    assert (paid(cut, "a", "n").score, paid(cut, "a", "n").status) == (1.0, Status.TRUNCATED)
    assert unpaid(cut, Status.WRONG, "n").status is Status.TRUNCATED
    assert unpaid(whole, Status.WRONG, "n", "a" * 999).extracted == "a" * 200
    assert gold_unreadable("it is empty").status is Status.GOLD_UNREADABLE
