"""The choices on which graders of mathematics differ, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Le

Finder = Literal[
    "box",
    "answer tags",
    "####",
    "'answer is'",
    "formula",
    "whole text",
    "last formula",
    "last number",
]
ORDER: tuple[Finder, ...] = get_args(Finder)


@dataclass(frozen=True)
class Policy:
    """How an answer is found, read and compared.

    order: which marks of a final answer are looked for, and in which order.
    decimal_comma: `2,74` may be 2.74 (and the list of 2 and 74); three digits behind the comma are
    thousands; a comma with a space behind it always parts a list.
    percent: `either` reads 28% as 28 and as 0.28; `unit` only as 28, `ratio` only as 0.28.
    units: words behind a value are no part of it. Two known units are converted and compared.
    arithmetic: an answer that leaves sums or products to the reader is paid, unless it stands in
    the question as it is. Off, it is paid only where it is written as the gold is.
    tolerance: relative, between a decimal and an exact value that has no end as a decimal.
    rounded_gold: a gold decimal of at least this many significant digits is met by the exact value
    that it is the rounding of; 0 turns this off.
    names: `x = 5` meets the gold `5`, and `5` meets `x = 5`; two different names never meet.
    choices: a gold of one letter A to J, or one that begins with such a letter, is a choice.
    synonyms: `no solution` is the empty set, `all real numbers` is the set of reals.
    """

    order: tuple[Finder, ...] = ORDER
    decimal_comma: bool = True
    percent: Literal["either", "unit", "ratio"] = "either"
    units: bool = True
    arithmetic: bool = True
    tolerance: Annotated[Fraction, Ge(0), Le(1)] = Fraction(1, 1_000_000)
    rounded_gold: Annotated[int, Ge(0)] = 4
    names: bool = True
    choices: bool = True
    synonyms: bool = True


DEFAULT = Policy()
