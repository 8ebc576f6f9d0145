"""From the text of an answer to an exact number, by a table of stated rules.

What no rule covers is refused with a note; nothing is evaluated by Python, and nothing is guessed.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Le

from evenodds.verifiers.decimals import same_rational
from evenodds.verifiers.grammar import Refused, Value, parse
from evenodds.verifiers.sums import is_false

Finder = Literal["box", "answer tags", "####", "'answer is'", "last number"]
"""The names in `extract.POLICIES`."""
MAX_CHARACTERS = 1_500
"""A longer candidate is no number that a person would write."""


@dataclass(frozen=True)
class Policy:
    """How an answer is found, read and compared: every choice on which graders differ.

    order: which marks of a final answer are looked for, and in which order.
    decimal_comma: `2,74` is 2.74; a comma before exactly three digits still groups thousands.
    percent: `unit` reads 28% as 28 (as a data set's gold usually means it); `ratio` as 28/100.
    units: words such as `dollars` or `m²` may follow the number, and are not compared.
    arithmetic: sums and products are worked out. Off for answers: `12*34` repeats the question.
    powers: `3^{80}` is worked out, up to a size.
    tolerance: relative, between a decimal and a value without end as a decimal; see `decimals`.
    """

    order: tuple[Finder, ...] = get_args(Finder)
    decimal_comma: bool = True
    percent: Literal["unit", "ratio"] = "unit"
    units: bool = True
    arithmetic: bool = False
    powers: bool = True
    tolerance: Annotated[Fraction, Ge(0), Le(1)] = Fraction(1, 1_000_000)


DEFAULT = Policy()

_SPACES = {ord(sign): " " for sign in "\u00a0\u2007\u2009\u202f\u200a\u2002\u2003\u3000\t\r\v\f"}
_INVISIBLE = {ord(sign): " " for sign in "\u200b\u200c\u200d\u2060\ufeff"}
_DASHES = {ord(sign): "-" for sign in "\u2212\u2010\u2011\u2012\u2013\uff0d\ufe63"}
_SIGNS = {
    ord(sign): plain for sign, plain in zip("×·⋅∗÷⁄∕＋．，＝：％／", "****///+.,=:%/", strict=True)
}
_HALVES = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅛": "1/8"}
_FRACTIONS = {
    ord(sign): " \\frac{{{}}}{{{}}}".format(*text.split("/")) for sign, text in _HALVES.items()
}
_UNICODE = {**_SPACES, **_INVISIBLE, **_DASHES, **_SIGNS, **_FRACTIONS}

_COMMANDS = {
    "dfrac": "\\frac",
    "tfrac": "\\frac",
    "cfrac": "\\frac",
    "frac": "\\frac",
    "cdot": "*",
    "times": "*",
    "div": "/",
    "circ": "°",
    "degree": "°",
    "approx": "≈",
    "simeq": "≈",
    "percent": "%",
    "left": "",
    "right": "",
    "displaystyle": "",
    "quad": " ",
    "qquad": " ",
    "noindent": " ",
    "euro": " ",
    "pounds": " ",
    "text": "",
    "textbf": "",
    "textit": "",
    "textrm": "",
    "mathrm": "",
    "mathbf": "",
    "mbox": "",
    "boxed": "",
    "operatorname": "",
}
_COMMAND = re.compile(r"\\{1,2}([a-zA-Z]{1,20})|\\([^a-zA-Z])")
_WRAPPED = re.compile(
    r"\\{1,2}(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname) ?\{([^{}]{0,200})\}"
)
_SYMBOLS = {"!": "", "%": "%", "\\": " ", "{": "[", "}": "]"}
_GROUPED = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?: [0-9]{3}){1,12}(?![0-9])")
_SHORT_BOTH = re.compile(r"\\frac ?([0-9]) ?([0-9])")
_SHORT_TOP = re.compile(r"\\frac ?([0-9]) ?(?=\{)")
_SHORT_BOTTOM = re.compile(r"(\\frac ?\{[^{}]{1,60}\}) ?([0-9])")
_RELATION = re.compile(r"[<>≤≥≠∈±|;]|¬|\\(?:le|leq|ge|geq|ne|neq|lt|gt|in|pm|not|neg|lnot)\b")
_SUBSCRIPT = re.compile(r"[\s$]{0,9}_\s?\{")
_LISTED = re.compile(r",\s")
_EMPHASIS = " *_`\"'"
_STOPS = ".,:;? 。"
_PLAIN = re.compile(r"-?[0-9]{1,15}\Z")
# an operator beside a letter: the left side is to be solved, not a name or a sum
_EQUATION = re.compile(r"(?<!\\)\b[a-zA-Z]\s?[-+*/^]|[-+*/^]\s?[0-9]{0,20}[a-zA-Z]\b")
_CROSS = re.compile(r"(?<=[0-9])\s?[xX]\s?(?=[0-9])")
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_PREFIX = re.compile(r"(?:minus|negative) (?=[0-9])")


def plain_text(text: str) -> str:
    """The text with Unicode digits, signs and spaces written as ASCII has them."""
    if text.isascii():
        return text
    text = text.translate(_UNICODE)
    return _FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)


def read(text: str, policy: Policy = DEFAULT) -> Value | Refused:
    """The number that `text` states, exactly, or why it states none.

    In `a = b` the last side is read; in `a ≈ b` the first is, for the other only rounds it. Two
    different whole numbers called equal are two answers.
    """
    if len(text) > MAX_CHARACTERS:
        return Refused(f"an answer of {len(text)} characters is no number")
    if _SUBSCRIPT.match(text):
        return Refused("it is a subscript, not one number")
    if _PLAIN.match(text):
        return Value(Fraction(int(text)))
    cleaned = clean(text)
    if not cleaned:
        return Refused("it is empty", is_empty=True)
    if _LISTED.search(cleaned):
        return Refused("it is a list", is_several=True)
    if _RELATION.search(cleaned):
        return Refused("it is a relation or a list, not one number")
    exact, *rounded = cleaned.split("≈")
    value = _last_side(exact, policy)
    for side in rounded:
        value = _with_rounding(value, _last_side(side, policy))
    return value


def _last_side(text: str, policy: Policy) -> Value | Refused:
    *others, last = text.split("=")
    if any(_EQUATION.search(other) for other in others):
        return Refused("it is an equation, not one number")
    value = _side(last, policy)
    if isinstance(value, Value) and value.form == "integer":
        if is_false(others, value.number):
            return Refused("two different numbers are called equal", is_several=True)
        for other in others:
            side = _side(other, policy)
            if isinstance(side, Value) and side.form == "integer" and side.number != value.number:
                return Refused("two different numbers are called equal", is_several=True)
    return value


def _with_rounding(exact: Value | Refused, rounded: Value | Refused) -> Value | Refused:
    if isinstance(exact, Refused):
        return rounded
    if isinstance(rounded, Value) and exact.form == "integer" and rounded.number != exact.number:
        return Refused("a whole number is said to be about another", is_several=True)
    return exact


def _side(text: str, policy: Policy) -> Value | Refused:
    text = trimmed(text)
    if _PLAIN.match(text):
        return Value(Fraction(int(text)))
    value = parse(
        text,
        decimal_comma=policy.decimal_comma,
        percent=Fraction(1) if policy.percent == "unit" else Fraction(1, 100),
        units=policy.units,
    )
    if isinstance(value, Refused):
        return value
    if value.is_worked and not policy.arithmetic:
        return Refused("it is an expression that is not worked out", is_unworked=True)
    if value.has_power and not policy.powers:
        return Refused("it is a power that is not worked out", is_unworked=True)
    return value


def clean(text: str) -> str:
    """The text without typesetting: math marks, spacing, wrappers, currency signs."""
    text = plain_text(text).replace("\n", " ").replace("{,}", ",")
    if "\\" in text:
        text = _WRAPPED.sub(r" \1 ", text.replace(",\\,", ","))
        text = _COMMAND.sub(_command, text)
        text = _SHORT_BOTH.sub(r"\\frac{\1}{\2}", text)
        text = _SHORT_TOP.sub(r"\\frac{\1}", text)
        text = _SHORT_BOTTOM.sub(r"\1{\2}", text)
    for sign in "$€£¥~":
        text = text.replace(sign, " ")
    text = _CROSS.sub("*", _PREFIX.sub("-", trimmed(text)))
    return _GROUPED.sub(lambda match: match[0].replace(" ", ""), text)


def _command(match: re.Match[str]) -> str:
    if match[1] is None:
        return _SYMBOLS.get(match[2], " ")
    return _COMMANDS.get(match[1], f"\\{match[1]}")


def trimmed(text: str) -> str:
    """Without the marks of emphasis and the punctuation at the ends, and stray brackets."""
    text = text.lstrip(_EMPHASIS).rstrip(_EMPHASIS + "\\").rstrip(_STOPS).rstrip(_EMPHASIS + "\\")
    for opening, closing in ("()", "{}"):
        if text.endswith(closing) and opening not in text:
            text = text.rstrip(closing + " ")
        if text.startswith(opening) and closing not in text:
            text = text.lstrip(opening + " ")
    return text


def same(answer: Value, gold: Value, tolerance: Fraction) -> str | None:
    """How the two are equal, in words, by the rule of `decimals`; None where they differ."""
    is_decimal = (gold.form == "decimal", answer.form == "decimal")
    return same_rational(gold.number, answer.number, is_decimal, tolerance)
