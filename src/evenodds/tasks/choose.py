"""Which verifier fits golds, where none is named."""

from __future__ import annotations

from collections.abc import Iterable

from evenodds.verifiers import KINDS
from evenodds.verifiers.grammar import Value
from evenodds.verifiers.number import read_gold

SIGNS = frozenset("\\^_()[]{}=<>+*/√π∞")
"""Signs that stand in mathematics, and hardly ever in a word or a sentence."""


def fitting(golds: Iterable[str]) -> tuple[str, str]:
    """The name of a verifier that reads most of the golds, and why in words.

    `number` where at least half are numbers, so that a slip in one of them is found and not read
    as text; `math` where at least half hold signs of mathematics; else `text`.
    """
    texts = [*golds]
    numbers = sum(isinstance(read_gold(text), Value) for text in texts)
    if 2 * numbers >= len(texts):
        return "number", f"chosen: {numbers} of {len(texts)} golds are numbers"
    formulas = sum(_is_formula(text) for text in texts)
    if "math" in KINDS and 2 * (numbers + formulas) >= len(texts):
        return "math", f"chosen: {formulas} of {len(texts)} golds are formulas"
    return "text", f"chosen: {len(texts) - numbers} of {len(texts)} golds are no numbers"


def _is_formula(text: str) -> bool:
    is_short = len(text) <= 200 and "\n" not in text
    return is_short and bool(SIGNS & set(text)) and not isinstance(read_gold(text), Value)
