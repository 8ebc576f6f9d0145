"""Wrong answers made from right ones: near enough to be plausible, and never equal to the gold."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?\Z")
_DIGITS = re.compile(r"[0-9]+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def mutated(gold: str) -> tuple[str, ...]:
    """Answers that look like `gold` and are not it; at least two of them, whatever the gold."""
    gold = gold.strip()
    if _NUMBER.match(gold):
        return _near_numbers(gold)
    if len(gold) == 1 and gold.isalpha():
        return _other_letters(gold)
    changed = [changed_digit(gold), gold + "7", "no " + gold]
    return tuple(dict.fromkeys(text for text in changed if text is not None and text != gold))[:2]


def _near_numbers(gold: str) -> tuple[str, ...]:
    """One more, one less, the other sign, a digit more, two digits exchanged: other values."""
    plain = gold.lstrip("-")
    last = int(plain[-1])
    near = [
        gold[:-1] + str((last + 1) % 10 if last < 9 else 8),
        gold[:-1] + str(last - 1 if last else 2),
        plain if gold.startswith("-") else f"-{gold}",
        f"1{gold}" if not gold.startswith("-") else f"-1{plain}",
        gold + ("0" if "." not in gold else "5"),
        _exchanged(gold),
    ]
    return tuple(dict.fromkeys(text for text in near if float(text) != float(gold)))


def _exchanged(gold: str) -> str:
    """The first two neighbouring digits that differ, exchanged."""
    for at in range(len(gold) - 1):
        one, two = gold[at], gold[at + 1]
        if one.isdigit() and two.isdigit() and one != two:
            return gold[:at] + two + one + gold[at + 2 :]
    return gold


def _other_letters(gold: str) -> tuple[str, ...]:
    letters = _LETTERS.upper() if gold.isupper() else _LETTERS
    at = letters.find(gold)
    if at < 0:
        return "a", "b"
    near = [letters[(at + step) % 4 if at < 4 else (at + step) % 26] for step in (1, 2, 3)]
    return tuple(letter for letter in dict.fromkeys(near) if letter != gold)


def changed_digit(gold: str) -> str | None:
    """The gold with the last digit of its first whole number changed; None where it has none.

    Digits beside `^` or `_` stay, for 1^5 is 1^6. One that may be a zero before others stays too.
    """
    for number in _DIGITS.finditer(gold):
        before = gold[max(0, number.start() - 6) : number.start()].rstrip("{ ")
        if before.endswith(("^", "_", ".")):
            continue
        digit = int(number[0][-1])
        other = str(digit + 1 if digit < 9 else 8)
        # the root of 4 or 9 would be whole, and 2√4/4 is 1: a trap such as «gold»·«wrong» is right
        if other in ("0", "1") or (before.endswith(("sqrt", "√")) and other in ("4", "9")):
            other = "7" if digit == 3 else "3"
        return gold[: number.end() - 1] + other + gold[number.end() :]
    return None


def others(golds: Iterable[str], gold: str, most: int = 60) -> tuple[str, ...]:
    """Golds of other problems that differ from this one however they are written."""
    plain = _plain(gold)
    found = (other.strip() for other in golds if _plain(other) != plain and other.strip())
    return tuple(dict.fromkeys(found))[:most]


def _plain(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isalnum())
