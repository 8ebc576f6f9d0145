"""A small exact grammar of numbers: signs, decimals, fractions, mixed numbers, powers, units.

It walks a list of tokens once; depth, token count and the size of every number are bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

Form = Literal["integer", "fraction", "decimal"]

MAX_DEPTH = 24
MAX_TOKENS = 240
MAX_EXPONENT = 1_000
MAX_BITS = 8_000


@dataclass(frozen=True)
class Value:
    """An exact number with the form in which it was written.

    is_worked: whether sums or products had to be worked out; has_power: whether powers had to be.
    is_scale: whether it is a written power of ten, as in scientific notation.
    """

    number: Fraction
    form: Form = "integer"
    is_worked: bool = False
    has_power: bool = False
    is_scale: bool = False


@dataclass(frozen=True)
class Refused:
    """Why a text states no single number.

    is_several: it states more than one; is_empty: it states none; is_unworked: it is an expression
    whose value was left to the reader.
    """

    note: str
    is_several: bool = False
    is_empty: bool = False
    is_unworked: bool = False


class NotANumberError(Exception):
    """Raised inside the grammar only; `parse` turns it into a `Refused`."""

    def __init__(self, note: str, is_several: bool = False) -> None:
        super().__init__(note)
        self.refused = Refused(note, is_several)


class Token(NamedTuple):
    kind: str
    text: str
    start: int


class Step(NamedTuple):
    """A value with the index of the token behind it."""

    value: Value
    at: int


_TOKEN = re.compile(
    r"(?P<number>[0-9.][0-9.,]{0,1500}(?:[eE][-+]?[0-9]{1,12}(?![0-9.]))?)"
    r"|(?P<fraction>\\frac)"
    r"|(?P<sign>\*\*|[-+*/^(){}])"
    r"|(?P<word>[^\W\d_]{1,60})"
    r"|(?P<space>\s{1,60})"
    r"|(?P<other>.)",
    re.DOTALL,
)
_END = Token("end", "", -1)
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PERCENT = {"%", "percent", "pct"}
_ONE_LETTER_UNITS = frozenset("mgshlLVWJNKCFt")
_NO_UNIT = re.compile(
    r"\b(?:or|and|if|else|but|not|to|then|of|out|over|squared|cubed|factorial|choose|mod|modulo"
    r"|times|plus|minus|divided|multiplied|more|less|half|third|hundred|dozen|base|pi|sqrt|in"
    r"|inf|nan|is|than|wrong|incorrect|false|maybe|perhaps|unless|except|never|no|non|thousandths|hundredths|tenths|thirds|halves|quarters)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(r"[^\W\d_]|[ °%/.'²³-]|\^[ {]{0,2}[-23°][ }]{0,2}")
_LIST = re.compile(
    r"(?:,|;|or|and|to|/|&|oder|und|ou|et|y|或) {0,3}(?:(?:maybe|perhaps|possibly) )?[-+$]?[0-9]"
)


def parse(text: str, *, decimal_comma: bool, percent: Fraction, units: bool) -> Value | Refused:
    """The value of the whole text, or why it has none."""
    tokens = tokenize(text)
    if len(tokens) > MAX_TOKENS:
        return Refused("it is too long to be one number")
    try:
        value, at = _sum(_Reader(tuple(tokens), decimal_comma), 0, 0)
        rest = text[tokens[at].start :] if at < len(tokens) else ""
        scale = _unit(rest, percent, units) if rest else Fraction(1)
    except NotANumberError as error:
        return error.refused
    if scale == 1:
        return value
    return replace(value, number=value.number * scale)


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, without white space."""
    return [
        Token(match.lastgroup or "other", match[0], match.start())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"
    ]


class _Reader(NamedTuple):
    tokens: tuple[Token, ...]
    decimal_comma: bool

    def peek(self, at: int) -> Token:
        return self.tokens[at] if at < len(self.tokens) else _END


def _sum(reader: _Reader, at: int, depth: int) -> Step:
    if depth > MAX_DEPTH:
        raise NotANumberError("it is nested too deeply")
    sign = reader.peek(at).text
    value, at = _product(reader, at + (sign in ("+", "-")), depth)
    if sign == "-":
        value = replace(value, number=-value.number)
    while reader.peek(at).text in ("+", "-") and _starts_value(reader.peek(at + 1)):
        minus = reader.peek(at).text == "-"
        term, at = _product(reader, at + 1, depth)
        number = value.number - term.number if minus else value.number + term.number
        value = _worked(number, value, term)
    return Step(value, at)


def _starts_value(token: Token) -> bool:
    return token.kind in ("number", "fraction") or token.text in ("(", "{")


def _product(reader: _Reader, at: int, depth: int) -> Step:
    value, at = _power(reader, at, depth)
    while reader.peek(at).text in ("*", "/") and _starts_value(reader.peek(at + 1)):
        divides = reader.peek(at).text == "/"
        factor, at = _power(reader, at + 1, depth)
        value = _quotient(value, factor) if divides else _times(value, factor)
    return Step(value, at)


def _times(left: Value, right: Value) -> Value:
    number = left.number * right.number
    if right.is_scale and left.form != "fraction" and not left.is_worked and not left.has_power:
        return Value(number, "decimal")
    return _worked(number, left, right)


def _quotient(left: Value, right: Value) -> Value:
    if right.number == 0:
        raise NotANumberError("it divides by zero")
    number = left.number / right.number
    if "fraction" in (left.form, right.form):
        return _worked(number, left, right)
    value = _worked(number, left, right)
    return replace(value, form="fraction", is_worked=left.is_worked or right.is_worked)


def _worked(number: Fraction, left: Value, right: Value) -> Value:
    """The result of working two values out; a decimal in either makes it a decimal."""
    if number.numerator.bit_length() + number.denominator.bit_length() > MAX_BITS:
        raise NotANumberError("it is too large")
    form: Form = "decimal" if "decimal" in (left.form, right.form) else "fraction"
    if number.denominator == 1 and form == "fraction":
        form = "integer"
    return Value(number, form, is_worked=True, has_power=left.has_power or right.has_power)


def _power(reader: _Reader, at: int, depth: int) -> Step:
    base, at = _atom(reader, at, depth)
    if reader.peek(at).text not in ("^", "**") or not _starts_exponent(reader, at + 1):
        return Step(base, at)
    minus = reader.peek(at + 1).text == "-"
    exponent, at = _atom(reader, at + 1 + minus, depth)
    if reader.peek(at).text in ("^", "**"):
        raise NotANumberError("it is a tower of powers")
    return Step(_raised(base, -exponent.number if minus else exponent.number), at)


def _starts_exponent(reader: _Reader, at: int) -> bool:
    """Whether a number follows; `^{°}` and `^°` are degrees, no powers."""
    inside = at + (reader.peek(at).text == "{")
    inside += reader.peek(inside).text == "-"
    return _starts_value(reader.peek(inside))


def _raised(base: Value, exponent: Fraction) -> Value:
    if exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT:
        raise NotANumberError("its exponent is not a whole number of a readable size")
    bits = base.number.numerator.bit_length() + base.number.denominator.bit_length()
    if bits * abs(exponent.numerator) > MAX_BITS or (base.number == 0 and exponent <= 0):
        raise NotANumberError("its power is too large or undefined")
    number = base.number**exponent.numerator
    form: Form = "integer" if number.denominator == 1 else "fraction"
    if base.form == "decimal":
        form = "decimal"
    is_scale = base.number == 10 and base.form == "integer"
    return Value(number, form, base.is_worked, has_power=True, is_scale=is_scale)


def _atom(reader: _Reader, at: int, depth: int) -> Step:
    token = reader.peek(at)
    if token.kind == "number":
        return _mixed(reader, number(token.text, reader.decimal_comma), at + 1, depth)
    if token.kind == "fraction":
        return _fraction(reader, at, depth)
    if token.text in ("(", "{"):
        return _group(reader, at, depth)
    raise NotANumberError("no number stands where one is needed")


def _group(reader: _Reader, at: int, depth: int) -> Step:
    closing = ")" if reader.peek(at).text == "(" else "}"
    if closing == ")":
        # `(1,2)` is a pair, whatever a comma means elsewhere
        reader = reader._replace(decimal_comma=False)
    value, at = _sum(reader, at + 1, depth + 1)
    if reader.peek(at).text != closing:
        raise NotANumberError("its brackets hold more than one number or do not match")
    return Step(value, at + 1)


def _fraction(reader: _Reader, at: int, depth: int) -> Step:
    if reader.peek(at + 1).text != "{":
        raise NotANumberError("a fraction lacks its numerator")
    top, at = _group(reader, at + 1, depth)
    if reader.peek(at).text != "{":
        raise NotANumberError("a fraction lacks its denominator")
    bottom, at = _group(reader, at, depth)
    return Step(_quotient(top, bottom), at)


def _mixed(reader: _Reader, whole: Value, at: int, depth: int) -> Step:
    """A whole number with a proper fraction behind it is their sum: `918\\frac{1}{2}`, `1 1/2`."""
    if whole.form != "integer":
        return Step(whole, at)
    if reader.peek(at).kind == "fraction":
        part, after = _fraction(reader, at, depth)
    elif reader.peek(at).kind == "number" and reader.peek(at + 1).text == "/":
        top = number(reader.peek(at).text, reader.decimal_comma)
        bottom, after = _atom(reader, at + 2, depth)
        part = _quotient(top, bottom)
    else:
        return Step(whole, at)
    if part.is_worked or not 0 < part.number < 1:
        raise NotANumberError("the fraction of a mixed number is not proper")
    return Step(Value(whole.number + part.number, "fraction"), after)


def number(text: str, decimal_comma: bool = True) -> Value:
    """The value of one written number with separators and an exponent.

    Raises NotANumberError where the separators fit no rule, and for an exponent that no page holds.
    """
    digits, _, exponent = text.replace("E", "e").partition("e")
    digits = digits.rstrip(".,") or "."
    whole, part = _separated(digits, decimal_comma)
    if not (whole + part).isdecimal() or len(whole) + len(part) > 1_200:
        raise NotANumberError("its digits and separators make no number")
    power = int(exponent) if exponent else 0
    if abs(power) > MAX_EXPONENT:
        raise NotANumberError(f"its exponent {power} is beyond {MAX_EXPONENT}")
    scale = power - len(part)
    mantissa = int(whole + part)
    exact = Fraction(mantissa * 10**scale) if scale >= 0 else Fraction(mantissa, 10**-scale)
    return Value(exact, "decimal" if part or exponent else "integer")


def _separated(digits: str, decimal_comma: bool) -> tuple[str, str]:
    """The digits before and behind the decimal mark, thousands separators removed."""
    commas, dots = digits.count(","), digits.count(".")
    if not commas and not dots:
        return digits, ""
    if commas and dots:
        mark = "," if digits.rfind(",") > digits.rfind(".") else "."
        whole, _, part = digits.rpartition(mark)
        return _ungrouped(whole, "." if mark == "," else ","), part
    if dots == 1:
        whole, _, part = digits.partition(".")
        return whole, part
    separator = "," if commas else "."
    if commas == 1 and decimal_comma and not _is_grouped(digits, ","):
        whole, _, part = digits.partition(",")
        return whole, part
    return _ungrouped(digits, separator), ""


def _is_grouped(digits: str, separator: str) -> bool:
    first, *groups = digits.split(separator)
    return 1 <= len(first) <= 3 and first[0] != "0" and all(len(group) == 3 for group in groups)


def _ungrouped(digits: str, separator: str) -> str:
    if separator in digits and not _is_grouped(digits, separator):
        raise NotANumberError("it is a list of numbers", is_several=separator == ",")
    return digits.replace(separator, "")


def _unit(rest: str, percent: Fraction, units: bool) -> Fraction:
    """What the words behind a number multiply it by: 1 for a unit, 1000 for `thousand`."""
    rest = rest.strip()
    if _LIST.match(rest):
        raise NotANumberError("it states several numbers", is_several=True)
    word = rest.partition(" ")[0]
    if word.lower() in SCALES:
        after = rest[len(word) :]
        return SCALES[word.lower()] * (_unit(after, percent, units) if after else Fraction(1))
    if rest.lower() in _PERCENT:
        return percent
    if not units or not is_unit(rest):
        raise NotANumberError("what follows the number is no unit")
    return Fraction(1)


def is_unit(rest: str) -> bool:
    if len(rest) > 60 or _UNIT.sub("", rest):
        return False
    words = re.findall(r"[^\W\d_]{1,60}", rest)
    if not words:
        return rest in ("°", "^°", "^{°}", "%")
    if _NO_UNIT.search(rest) or len(words) > 7:
        return False
    return len(words[0]) > 1 or words[0] in _ONE_LETTER_UNITS
