"""Reading one number exactly, and comparing two."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.verifiers.canonical import Policy, read, same
from evenodds.verifiers.grammar import Refused, Value

MILLIONTH = Fraction(1, 1_000_000)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,000.99", "1000.99"),
        ("1.000,99", "1000.99"),
        ("1,234,567", "1234567"),
        ("1.234.567", "1234567"),
        ("0,111", "0.111"),
        ("2,74", "2.74"),
        ("1,234", "1234"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-\\dfrac{3}{4}", "-3/4"),
        ("\\frac1{72}", "1/72"),
        ("\\frac{1}3", "1/3"),
        ("918\\frac{1}{2}", "1837/2"),
        ("-1 1/2", "-3/2"),
        ("2^{-3}", "1/8"),
        ("1.5e3", "1500"),
        ("3 \\cdot 10^{-2}", "3/100"),
        ("x = 1/3 \\approx 0.33", "1/3"),
        ("45^\\circ", "45"),
        ("\\$10", "10"),
        ("10\\text{ units}", "10"),
        ("1,000.99m²", "1000.99"),
        ("$\\left(7\\right)$", "7"),
    ],
)
def test_forms_that_are_read(text: str, number: str) -> None:
    value = read(text)
    assert isinstance(value, Value), value
    assert value.number == Fraction(number)


@pytest.mark.parametrize(
    "text",
    [
        *("1,2,3", "1.2.3", "(1,2)", "[1,2]", "1+1", "2*3", "1/2/3", "--1", "1/0", "0^0", "1e1001"),
        *("2^2^2", "2^1001", "9999^999", "1 2", "1 3/2", "\\frac", "\\frac{1}", "\\frac{1+1}{2}"),
        *("42 if", "42 squared", "x", "", "()", "nan", "inf", "٣x", "5 or 6", "1_000", "4²", "{"),
    ],
)
def test_forms_that_are_refused(text: str) -> None:
    assert isinstance(read(text), Refused)


def test_gold_may_be_worked_out() -> None:
    value = read("0.1 + 0.2", Policy(arithmetic=True))
    assert isinstance(value, Value)
    assert value.number == Fraction("0.3")


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("0.428571", "3/7", True),
        ("0.42857", "3/7", False),
        ("1/3", "333333/1000000", False),  # neither is a decimal: compared exactly
        ("42.000001", "42", False),  # a whole number is never met by rounding
        ("0.0000001", "0.0000002", False),
        ("1e-400", "2e-400", False),
    ],
)
def test_the_tolerance(left: str, right: str, equal: bool) -> None:
    first, second = read(left), read(right)
    assert isinstance(first, Value)
    assert isinstance(second, Value)
    assert (same(first, second, MILLIONTH) is not None) is equal
    assert (same(second, first, MILLIONTH) is not None) is equal


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet="0123456789.,-+*/^(){}e ≈=%x\\frac", max_size=40))
def test_whatever_is_written_gives_a_value_or_a_refusal(text: str) -> None:
    assert isinstance(read(text, Policy(arithmetic=True)), Value | Refused)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.fractions(max_denominator=10**6))
def test_a_fraction_is_read_as_itself(number: Fraction) -> None:
    for text in (f"{number}", f"\\frac{{{number.numerator}}}{{{number.denominator}}}"):
        value = read(text)
        assert isinstance(value, Value)
        assert value.number == number
