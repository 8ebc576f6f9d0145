"""Units that are known: two of them are converted before they are compared."""

from __future__ import annotations

from fractions import Fraction

from evenodds.verifiers.math.tree import Node, num

_TABLE: dict[str, tuple[str, Fraction]] = {}


def _add(kind: str, factor: str, *names: str) -> None:
    for name in names:
        _TABLE[name] = (kind, Fraction(factor))


_add("length", "1", "m", "meter", "metre")
_add("length", "1/100", "cm", "centimeter", "centimetre")
_add("length", "1/1000", "mm", "millimeter", "millimetre")
_add("length", "1000", "km", "kilometer", "kilometre")
_add("inches", "1", "in", "inch", "inche")
_add("inches", "12", "ft", "feet", "foot")
_add("inches", "36", "yd", "yard")
_add("inches", "63360", "mi", "mile")
_add("mass", "1", "g", "gram")
_add("mass", "1000", "kg", "kilogram")
_add("mass", "1/1000", "mg", "milligram")
_add("time", "1", "s", "sec", "second")
_add("time", "60", "min", "minute")
_add("time", "3600", "h", "hr", "hour")
_add("time", "86400", "day")
_add("time", "604800", "week")
_add("months", "1", "month")
_add("months", "12", "year")
_add("volume", "1", "l", "liter", "litre")
_add("volume", "1/1000", "ml", "milliliter", "millilitre")
_add("money", "1", "dollar", "usd")
_add("money", "1/100", "cent")
_POWERS = {"^2": 2, "^{2}": 2, "^3": 3, "^{3}": 3}


def _known(unit: str) -> tuple[str, Fraction] | None:
    """The dimension and the factor of a written unit such as `cm ^ 2`, `square feet`, `hours`."""
    text = "".join(unit.split()).lower()
    power = 1
    for word, exponent in (("square", 2), ("sq", 2), ("cubic", 3), ("cu", 3)):
        if text.startswith(word):
            text, power = text[len(word) :], exponent
            break
    for suffix, exponent in _POWERS.items():
        if text.endswith(suffix):
            text, power = text[: -len(suffix)], exponent
    found = _TABLE.get(text) or _TABLE.get(text.removesuffix("s"))
    return (f"{found[0]}^{power}", found[1] ** power) if found else None


def _of(node: Node) -> tuple[str, Fraction] | None:
    return _known(node.name) if node.kind == "unit" else None


def differ(gold: Node, answer: Node) -> bool:
    """Whether both have known units, and not the same."""
    left, right = _of(gold), _of(answer)
    if gold.kind == answer.kind == "unit" and gold.name[:4] == answer.name[:4] == "mod ":
        return gold.name != answer.name
    return left is not None and right is not None and left != right


def converted(gold: Node, answer: Node) -> tuple[Node, Node] | None:
    """Both in the base unit of their dimension; None where the dimensions differ."""
    left, right = _of(gold), _of(answer)
    if left is None or right is None or left[0] != right[0]:
        return None
    return (
        Node("*", (gold.args[0], num(left[1]))),
        Node("*", (answer.args[0], num(right[1]))),
    )
