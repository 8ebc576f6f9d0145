"""Chained sums, such as 3 + 4 * (5 - 2): precedence and parentheses, deeper by level."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from evenodds.tasks.operations import Level, Operation, Question, whole
from evenodds.verifiers.grammar import Value
from evenodds.verifiers.number import read_gold

Tree = int | tuple[str, "Tree", "Tree"]
"""A number, or an operator with what stands on its left and on its right."""

SIGNS = "+-*"
BINDS = {"+": 1, "-": 1, "*": 2}


def grown(numbers: list[int], deep: int, signs: str, rng: np.random.Generator) -> Tree:
    """A random tree over the numbers that is likely to need parentheses that deep.

    There have to be `deep` + 2 numbers at least.
    """
    if deep == 0:
        return flat(numbers, signs, rng)
    if len(numbers) > deep + 2 and rng.integers(2):
        return _chosen(signs, rng), numbers[0], grown(numbers[1:], deep, signs, rng)
    cut = int(rng.integers(deep + 1, len(numbers)))
    inner, outer = summed(numbers[:cut], deep - 1, signs, rng), flat(numbers[cut:], signs, rng)
    shape = int(rng.integers(3))
    if shape == 0:
        return "-", outer, inner
    return ("*", inner, outer) if shape == 1 else ("*", outer, inner)


def summed(numbers: list[int], deep: int, signs: str, rng: np.random.Generator) -> Tree:
    """Like `grown`, with + or - at its top, so that a product needs parentheses around it."""
    if deep == 0:
        cut = int(rng.integers(1, len(numbers)))
        left, right = (flat(part, signs, rng) for part in (numbers[:cut], numbers[cut:]))
        return _chosen("+-", rng), left, right
    if len(numbers) > deep + 2 and rng.integers(2):
        return _chosen("+-", rng), numbers[0], grown(numbers[1:], deep, signs, rng)
    return "-", numbers[0], summed(numbers[1:], deep - 1, signs, rng)


def flat(numbers: list[int], signs: str, rng: np.random.Generator) -> Tree:
    """The numbers with random operators between them, products before sums, left to right."""
    terms: list[tuple[str, Tree]] = [("+", numbers[0])]
    for number in numbers[1:]:
        sign = _chosen(signs, rng)
        if sign == "*":
            terms[-1] = (terms[-1][0], ("*", terms[-1][1], number))
        else:
            terms.append((sign, number))
    tree = terms[0][1]
    for sign, term in terms[1:]:
        tree = (sign, tree, term)
    return tree


def _chosen(signs: str, rng: np.random.Generator) -> str:
    return signs[int(rng.integers(len(signs)))]


def value(tree: Tree) -> int:
    """What the tree comes to."""
    if isinstance(tree, int):
        return tree
    sign, left, right = tree[0], value(tree[1]), value(tree[2])
    if sign == "*":
        return left * right
    return left + right if sign == "+" else left - right


def written(tree: Tree, least: int = 0) -> str:
    """The tree as one writes it, with no parentheses that are not needed."""
    if isinstance(tree, int):
        return str(tree)
    sign, binds = tree[0], BINDS[tree[0]]
    right = binds + 1 if sign == "-" else binds
    text = f"{written(tree[1], binds)} {sign} {written(tree[2], right)}"
    return f"({text})" if binds < least else text


def canonical(tree: Tree) -> str:
    """The same text for trees that differ by the order of summands or factors only."""
    terms = _terms(tree, 1)
    plus = sorted(text for sign, text in terms if sign > 0)
    minus = sorted(text for sign, text in terms if sign < 0)
    return "+".join(plus) + "".join(f"-{text}" for text in minus)


def _terms(tree: Tree, sign: int) -> list[tuple[int, str]]:
    """The summands of a tree, each with its sign."""
    if isinstance(tree, int) or tree[0] == "*":
        return [(sign, "*".join(sorted(_factors(tree))))]
    return _terms(tree[1], sign) + _terms(tree[2], sign if tree[0] == "+" else -sign)


def _factors(tree: Tree) -> list[str]:
    if isinstance(tree, int):
        return [str(tree)]
    if tree[0] == "*":
        return _factors(tree[1]) + _factors(tree[2])
    return [f"({canonical(tree)})"]


def depth(text: str) -> int:
    """How deep the parentheses of a text are nested."""
    deepest = now = 0
    for sign in text:
        now += (sign == "(") - (sign == ")")
        deepest = max(deepest, now)
    return deepest


def _draw(level: Level, rng: np.random.Generator) -> Question:
    """sizes: numbers, their digits, how many of `SIGNS` are used, how deep the parentheses go."""
    terms, digits, signs, deep = level.sizes
    while True:
        numbers = [whole(digits, rng) for _ in range(terms)]
        tree = grown(numbers, deep, SIGNS[:signs], rng)
        text = written(tree)
        is_mixed = signs < len(SIGNS) or "*" in text
        if is_mixed and depth(text) == deep:
            return Question(canonical(tree), text, str(value(tree)))


def _solve(key: str) -> str:
    found = read_gold(key)
    if not isinstance(found, Value) or found.number != Fraction(int(found.number)):
        raise ValueError(f"{key} is no sum of whole numbers")
    return str(int(found.number))


def _level(terms: int, digits: int, signs: int, deep: int) -> Level:
    inside = f", parentheses {deep} deep" if deep else ""
    used = " ".join(SIGNS[:signs])
    return Level(f"{terms} numbers of {digits}, {used}{inside}", (terms, digits, signs, deep))


CHAINED = Operation(
    "chained",
    tuple(
        _level(*row)
        for row in (
            (3, 1, 2, 0),
            (3, 1, 3, 0),
            (4, 1, 3, 0),
            (3, 1, 3, 1),
            (4, 1, 3, 1),
            (4, 1, 3, 2),
            (5, 1, 3, 2),
            (4, 2, 3, 1),
            (5, 2, 3, 2),
            (6, 2, 3, 3),
        )
    ),
    _draw,
    _solve,
    "sums that differ by the order of summands or factors are one problem",
    source="random trees over operands drawn uniformly by digit length",
)
