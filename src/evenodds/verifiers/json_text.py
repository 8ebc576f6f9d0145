"""JSON read strictly, with its sizes bounded before it is parsed, and compared exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, NoReturn, cast

MAX_CHARACTERS = 100_000
MAX_DEPTH = 64
MAX_DIGITS = 300
"""Of one number, as it is written."""
MAX_EXPONENT = 300
"""Of one number. With both limits each number has a double, which schemas are checked with."""


class NotJSONError(Exception):
    """Why a text is no JSON that is accepted."""


def strict(text: str, *, duplicates: bool = False, constants: bool = False) -> object:
    """The value of a JSON text; numbers with a point or an exponent are `Decimal`.

    duplicates: a key that stands twice in one object is allowed, and its last value counts.
    constants: `NaN` and `Infinity` are allowed. Raises NotJSONError.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotJSONError(f"it has {len(text)} characters")
    if depth_of(text) > MAX_DEPTH:
        raise NotJSONError(f"it is nested deeper than {MAX_DEPTH}")
    try:
        return json.loads(
            text,
            object_pairs_hook=dict if duplicates else _unique,
            parse_constant=float if constants else _no_constant,
            parse_int=_integer,
            parse_float=_decimal,
        )
    except (ValueError, RecursionError) as error:
        raise NotJSONError(f"it is no JSON: {error}") from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        key = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise NotJSONError(f"the key {key[:40]!r} stands twice in one object")
    return table


def _no_constant(name: str) -> NoReturn:
    raise NotJSONError(f"{name} is no JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise NotJSONError(f"a number has {len(digits)} digits")
    return int(digits)


def _decimal(digits: str) -> Decimal:
    mantissa, _, exponent = digits.lower().partition("e")
    if len(mantissa) > MAX_DIGITS or len(exponent) > 6 or abs(int(exponent or 0)) > MAX_EXPONENT:
        raise NotJSONError("a number has too many digits or too large an exponent")
    return Decimal(digits)


_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.|\\\Z){0,100000}(?:"|\Z)|[\[{]|[\]}]', re.DOTALL)


def depth_of(text: str) -> int:
    """How deep brackets stand in each other, outside of strings."""
    depth = deepest = 0
    for match in _STRUCTURE.finditer(text):
        if match[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in "]}":
            depth -= 1
    return deepest


def last_object(text: str) -> tuple[int, int] | None:
    """Where the last `{…}` stands whose braces balance, read backwards from the last `}`.

    Quoted strings are skipped, for they may hold braces. None where no brace balances.
    """
    end = text.rfind("}") + 1
    depth, in_string = 0, False
    for at in _signs_back(text, end):
        if text[at] == '"':
            in_string = not in_string
        elif not in_string:
            depth += 1 if text[at] == "}" else -1
            if depth == 0:
                return at, end
    return None


def _signs_back(text: str, end: int) -> Iterator[int]:
    """Where braces and unescaped quotes stand before `end`, from the last to the first."""
    found = [match.start() for match in re.finditer(r'\\.|["{}]', text[:end], re.DOTALL)]
    return (at for at in reversed(found) if text[at] != "\\")


Arrays = Literal["ordered", "any order"]
Numbers = Literal["by value", "by type"]


def canonical(value: object, arrays: Arrays = "ordered", numbers: Numbers = "by value") -> str:
    """One text for all JSON values that count as equal.

    The order of keys never counts, that of arrays by policy. Numbers are equal by their exact value
    (1 is 1.0 is 1e0), or `by type` only where both are written with or without a point. `true` is
    never 1. Strings are equal sign for sign.
    """
    if isinstance(value, dict):
        table = cast(dict[str, object], value)
        rows = (f"{json.dumps(k)}:{canonical(table[k], arrays, numbers)}" for k in sorted(table))
        return "{" + ",".join(rows) + "}"
    if isinstance(value, list):
        items = [canonical(item, arrays, numbers) for item in cast(list[object], value)]
        return "[" + ",".join(sorted(items) if arrays == "any order" else items) + "]"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    return _number(cast("int | Decimal | float", value), numbers)


def _number(value: int | Decimal | float, numbers: Numbers) -> str:
    if isinstance(value, float):  # NaN and the infinities, where they are allowed
        return repr(value)
    sign, digits, exponent = Decimal(value).as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    plain = written.rstrip("0")
    power = int(exponent) + len(written) - len(plain) if plain else 0
    kind = "" if numbers == "by value" else "i" if isinstance(value, int) else "d"
    return f"{kind}{'-' if sign and plain else ''}{plain or '0'}e{power}"


def plain(value: object) -> object:
    """The value with doubles in place of decimals, as a schema is checked with."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in cast(dict[str, object], value).items()}
    if isinstance(value, list):
        return [plain(item) for item in cast(list[object], value)]
    return float(value) if isinstance(value, Decimal) else value
