"""Plain sums of whole numbers that are called equal to another number: `40 + 1 = 42`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from evenodds.verifiers.grammar import Refused, parse

_WHOLE = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,12})"
_SIGN = r"\s?(?:[-+*×]|\\times|\\cdot)\s?"
_SUM = re.compile(rf"-?{_WHOLE}(?:{_SIGN}\$?{_WHOLE}){{1,12}}")
_OPEN = r"(?:\A|[\n:;$(]|\\[(\[]|(?!times|plus|minus|by|of|over|from|to|than|and)\b[a-zA-Z]{2,20})"
_LAST_SUM = re.compile(rf"{_OPEN}\s{{0,2}}({_SUM.pattern})\s?\Z")
_RESULT = re.compile(rf"=\s?\$?({_WHOLE})(?![0-9.,]*[0-9]|\s?[-+*/^%×\\a-zA-Z])")


def value_of(text: str) -> Fraction | None:
    """The value of a plain sum or product of whole numbers; None for anything else."""
    text = text.strip(" $").replace("\\times", "*").replace("\\cdot", "*").replace("×", "*")
    if not _SUM.fullmatch(text):
        return None
    value = parse(text.replace("$", ""), decimal_comma=True, percent=Fraction(1), units=False)
    return None if isinstance(value, Refused) else value.number


def is_false(sides: Sequence[str], last: Fraction) -> bool:
    """Whether plain sums are called equal to `last`, and none of them is it."""
    values = {value_of(side) for side in sides}
    return bool(values) and None not in values and last not in values


def follows_false_sum(before: str, text: str) -> bool:
    """Whether `text` begins with `= 42` behind a sum in `before` that is another number."""
    result = _RESULT.match(text)
    found = _LAST_SUM.search(before[-100:]) if result else None
    if result is None or found is None:
        return False
    return is_false([found[1]], Fraction(result[1].replace(",", "")))
