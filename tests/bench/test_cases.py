"""The bench itself: its cases are what they say, the same each time, and wide."""

from __future__ import annotations

import pytest

from evenodds.bench.case import CATEGORIES, asked
from evenodds.bench.mutate import changed_digit, mutated, others
from evenodds.bench.suite import SLOW, SUITES, own, quick


@pytest.mark.parametrize("kind", sorted(SUITES))
def test_every_kind_is_tried_widely_and_the_same_each_time(kind: str) -> None:
    cases = list(own(kind))
    assert cases == list(own(kind))
    assert {case.category for case in cases} <= set(CATEGORIES)
    assert {case.kind for case in cases} == {kind}
    wrong = [case for case in cases if case.expected is False]
    right = [case for case in cases if case.expected is True]
    assert len(wrong) >= 40 and len(right) >= 8
    assert len({case.category for case in cases}) >= 5
    assert all(case.note for case in cases)
    assert not {case.category for case in quick(own(kind))} & set(SLOW)


@pytest.mark.parametrize("gold", ["7", "0", "-3", "9", "10", "199", "0.5", "-0.25", "1000000"])
def test_mutants_of_numbers_differ_in_value(gold: str) -> None:
    found = mutated(gold)
    assert len(found) >= 3
    assert all(float(text) != float(gold) for text in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("(1, 2)", "(2, 2)"),
        ("x^{2}+5", "x^{2}+6"),
        ("1^{5}", "2^{5}"),
        ("a_{12}", None),
        ("Paris", None),
        ("0.5", "3.5"),
        ("\\frac{19}{4}", "\\frac{18}{4}"),
        ("\\frac{\\sqrt{3}}{2}", "\\frac{\\sqrt{7}}{2}"),
        ("\\sqrt 8", "\\sqrt 3"),
    ],
)
def test_a_digit_is_changed_where_that_changes_the_value(gold: str, expected: str | None) -> None:
    assert changed_digit(gold) == expected


@pytest.mark.parametrize("gold", ["A", "b", "Paris", "", "x", "(1,2)", "yes", "Ω"])
def test_any_gold_has_two_mutants(gold: str) -> None:
    found = mutated(gold)
    assert len(found) >= 2 and gold not in found


def test_other_golds_are_not_this_one_in_other_clothes() -> None:
    assert others(["Paris", "paris.", " PARIS ", "Rome", "", "Rome"], "Paris") == ("Rome",)


def test_a_trap_whose_own_words_hold_the_gold_is_left_out() -> None:
    from evenodds.bench.case import Subject
    from evenodds.bench.frames import framed

    one = Subject(asked("number", 0, "1 + 0 =", "1"), ("1",), ("2", "3"))
    texts = [case.completion.text for case in framed("number", one) if case.expected is False]
    assert texts and not any("Score: 1" in text for text in texts)
