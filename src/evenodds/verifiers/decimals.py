"""When a written decimal stands for an exact value: one rule, for `number` and for `math`.

A decimal meets an exact value that has no end as a decimal (1/3, √2) where it is that value cut off
or rounded at its last place, within a relative tolerance. A decimal that has an end is met exactly,
but for the longer of two decimals, of which the shorter may be the rounding. A whole number is met
by itself only.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

MAX_BITS = 10_000
SHORT = 6
"""Decimals that a number needs before a longer one may be taken for what it is the rounding of."""


def places(value: Fraction) -> int | None:
    """How many decimals a number has; None where they never end."""
    rest = value.denominator
    if rest.bit_length() > MAX_BITS:
        return None
    twos, fives = (rest & -rest).bit_length() - 1, 0
    rest >>= twos
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def same_rational(
    gold: Fraction,
    answer: Fraction,
    is_decimal: tuple[bool, bool],
    tolerance: Fraction,
    rounded_gold: int = 0,
) -> str | None:
    """How two rationals are equal, in words; None where they are not.

    is_decimal: whether gold and answer were written with a decimal point. rounded_gold: see
    `is_rounding`.
    """
    if gold == answer:
        return "equal exactly"
    if not any(is_decimal) or gold.denominator == 1 or answer.denominator == 1:
        return None
    if all(is_decimal):
        return _rounded(gold, answer, tolerance)
    decimal, exact = (gold, answer) if is_decimal[0] else (answer, gold)
    if places(exact) is not None or exact.denominator.bit_length() > MAX_BITS:
        return None
    return near(decimal, exact, is_decimal[0], tolerance, rounded_gold)


def near(
    decimal: Fraction, value: Any, is_gold: bool, tolerance: Fraction, rounded_gold: int
) -> str | None:
    """How a decimal stands for a value without end: a Fraction, or a real of many digits."""
    bound = abs(value) * tolerance.numerator / tolerance.denominator
    written = value * 0 + decimal.numerator
    if abs(value - written / decimal.denominator) <= bound and is_cut(decimal, value):
        return f"equal within a relative {float(tolerance):g}"
    if is_gold and is_rounding(decimal, value, rounded_gold):
        return "the gold is its rounding"
    return None


def is_cut(decimal: Fraction, value: Any) -> bool:
    """Whether `decimal` is `value`, rounded or cut off at its last place."""
    unit = 10 ** (places(decimal) or 0)
    beyond = abs(value) * unit - abs(decimal.numerator) * unit // decimal.denominator
    return bool(2 * beyond >= -1 and beyond < 1)


def is_rounding(decimal: Fraction, value: Any, digits: int) -> bool:
    """Whether `decimal` has that many significant digits and is `value` to its last place."""
    unit = 10 ** (places(decimal) or 0)
    whole = decimal.numerator * unit // decimal.denominator
    if not digits or len(str(abs(whole))) < digits:
        return False
    return bool(abs(value * unit - whole) * 2 <= 1)


def _rounded(gold: Fraction, answer: Fraction, tolerance: Fraction) -> str | None:
    """Of two decimals the shorter, if it is long enough, may be the rounding of the longer."""
    short, long = sorted((gold, answer), key=lambda value: places(value) or 0)
    digits = places(short) or 0
    if digits < SHORT or abs(short - long) > tolerance * max(abs(short), abs(long)):
        return None
    if abs(short - long) * 2 > Fraction(1, 10**digits):
        return None
    return f"one is the other, rounded, within a relative {float(tolerance):g}"
