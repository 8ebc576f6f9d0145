"""What the arithmetic ladder asks: each operation draws questions by level, and knows answers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

Digits = tuple[int, int]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Question:
    """key: how it is filed, the same for forms that are one problem. text: how it is written."""

    key: str
    text: str
    answer: str


@dataclass(frozen=True)
class Level:
    """sizes: what the draw goes by; they seed the split, so that a ladder may be reordered.

    total: how many problems there are; None where nobody has counted them.
    """

    label: str
    sizes: tuple[int, ...]
    total: int | None = None


@dataclass(frozen=True)
class Operation:
    """A kind of sum.

    draw: a question of a level; solve: the answer from the key alone, by another way than `draw`.
    ask: the chat message around the text. rule: what makes two questions one problem.
    """

    name: str
    levels: tuple[Level, ...]
    draw: Callable[[Level, np.random.Generator], Question]
    solve: Callable[[str], str]
    rule: str
    ask: str = "What is {}? End your reply with the answer as a plain number."
    verifier: str = "number"
    source: str = "operands drawn uniformly by digit length"


def whole(digits: int, rng: np.random.Generator) -> int:
    """A whole number of that many digits, uniform, with no leading zero."""
    return int(rng.integers(10 ** (digits - 1), 10**digits))


def divisor(digits: int, rng: np.random.Generator, least: int = 2) -> int:
    """A whole number of that many digits, uniform, from `least` on."""
    return int(rng.integers(max(least, 10 ** (digits - 1)), 10**digits))


def draw_pair(digits: Digits, rng: np.random.Generator) -> Pair:
    """Two operands, each uniform over its digit length; the longer first, as on paper."""
    return whole(digits[0], rng), whole(digits[1], rng)


def number_of_pairs(digits: Digits) -> int:
    """How many unordered pairs a level has."""
    first, second = (9 * 10 ** (length - 1) for length in digits)
    return first * (first + 1) // 2 if first == second else first * second


def commuting(name: str, symbol: str, apply: Callable[[int, int], int], rows: str) -> Operation:
    """An operation on two numbers whose order does not matter: a·b and b·a are one problem."""

    def draw(level: Level, rng: np.random.Generator) -> Question:
        a, b = draw_pair((level.sizes[0], level.sizes[1]), rng)
        key = f"{min(a, b)}{symbol}{max(a, b)}"
        return Question(key, f"{a} {symbol} {b}", str(apply(a, b)))

    def solve(key: str) -> str:
        first, second = key.split(symbol)
        return str(apply(int(first), int(second)))

    sign = "×" if symbol == "*" else symbol
    levels = tuple(
        Level(f"{first}{sign}{second} digits", (first, second), number_of_pairs((first, second)))
        for first, second in _pairs(rows)
    )
    return Operation(name, levels, draw, solve, "a·b and b·a are one problem")


def _pairs(rows: str) -> list[Digits]:
    """`11 21` -> [(1, 1), (2, 1)]: the digit lengths of each level."""
    return [(int(row[0]), int(row[1])) for row in rows.split()]


MULTIPLICATION = commuting("multiplication", "*", operator.mul, "11 21 31 41 22 32 42 33 43 44")
ADDITION = commuting("addition", "+", operator.add, "11 21 22 32 33 43 44 54 55 66")


def _draw_difference(level: Level, rng: np.random.Generator) -> Question:
    """a - b. Of equal lengths the larger comes first; a shorter first makes it negative."""
    a, b = draw_pair((level.sizes[0], level.sizes[1]), rng)
    if level.sizes[0] == level.sizes[1] and a < b:
        a, b = b, a
    return Question(f"{a}-{b}", f"{a} - {b}", str(a - b))


def _solve_difference(key: str) -> str:
    first, second = key.split("-")
    return str(int(first) - int(second))


SUBTRACTION = Operation(
    "subtraction",
    tuple(
        Level(f"{first}−{second} digits", (first, second), number_of_pairs((first, second)))
        for first, second in _pairs("11 21 22 32 33 23 43 44 34 55 66")
    ),
    _draw_difference,
    _solve_difference,
    "a - b and b - a are two problems",
)


def _draw_quotient(level: Level, rng: np.random.Generator) -> Question:
    """a / b: with a whole quotient (sizes 0, quotient, divisor), else a fraction to be reduced."""
    kind, *digits = level.sizes
    if kind == 0:
        quotient, below = whole(digits[0], rng), divisor(digits[1], rng)
        above, answer = quotient * below, str(quotient)
    else:
        common, above, below = divisor(digits[0], rng), whole(digits[1], rng), 1
        while below == 1 or math.gcd(above, below) > 1:
            below = divisor(digits[2], rng)
        above, below, answer = common * above, common * below, f"{above}/{below}"
    return Question(f"{above}/{below}", f"{above} / {below}", answer)


def _solve_quotient(key: str) -> str:
    above, below = key.split("/")
    return str(Fraction(int(above), int(below)))


def _divisors(digits: int) -> int:
    return 10**digits - max(2, 10 ** (digits - 1))


def _exact(quotient: int, below: int) -> Level:
    count = 9 * 10 ** (quotient - 1) * _divisors(below)
    return Level(f"{quotient}-digit quotient, {below}-digit divisor", (0, quotient, below), count)


def _reduced(common: int, above: int, below: int) -> Level:
    label = f"to a fraction of {above} over {below} digits, common factor of {common}"
    return Level(label, (1, common, above, below))


DIVISION = Operation(
    "division",
    (
        *(_exact(*row) for row in _pairs("11 21 31 12 22 32 23 33")),
        *(_reduced(*row) for row in ((1, 1, 1), (2, 1, 1), (1, 2, 2), (2, 2, 2))),
    ),
    _draw_quotient,
    _solve_quotient,
    "a / b and b / a are two problems",
    ask="What is {}? End your reply with a line that holds only the result: a whole number, or a "
    "fraction in lowest terms.",
    # `number` takes 84/7 for 12, and so would pay whoever repeats the question
    verifier="text",
    source="quotients, divisors and common factors drawn uniformly by digit length",
)


def _draw_remainder(level: Level, rng: np.random.Generator) -> Question:
    """a mod m (sizes 0, a, m) or a power, b^e mod m (sizes 1, b, e, m)."""
    kind, *digits = level.sizes
    if kind == 0:
        a, modulus = whole(digits[0], rng), divisor(digits[1], rng, least=3)
        return Question(f"{a}%{modulus}", f"{a} mod {modulus}", str(a % modulus))
    base, exponent = divisor(digits[0], rng), divisor(digits[1], rng)
    modulus = divisor(digits[2], rng, least=3)
    answer = pow(base, exponent, modulus)
    return Question(f"{base}^{exponent}%{modulus}", f"{base}^{exponent} mod {modulus}", str(answer))


def _solve_remainder(key: str) -> str:
    left, _, modulus = key.partition("%")
    base, _, exponent = left.partition("^")
    rest = 1
    for _ in range(int(exponent or 1)):
        rest = rest * int(base) % int(modulus)
    return str(rest)


def _moduli(digits: int) -> int:
    return 10**digits - max(3, 10 ** (digits - 1))


def _plain(first: int, modulus: int) -> Level:
    count = 9 * 10 ** (first - 1) * _moduli(modulus)
    return Level(f"{first} digits mod {modulus}", (0, first, modulus), count)


def _power(base: int, exponent: int, modulus: int) -> Level:
    count = _divisors(base) * _divisors(exponent) * _moduli(modulus)
    return Level(
        f"power of {base}^{exponent} digits mod {modulus}", (1, base, exponent, modulus), count
    )


MODULAR = Operation(
    "modular",
    (
        *(_plain(*row) for row in _pairs("21 31 41 32 42 52 53")),
        *(_power(*row) for row in ((1, 1, 1), (2, 1, 1), (2, 2, 2), (2, 2, 3))),
    ),
    _draw_remainder,
    _solve_remainder,
    "the same number and modulus are one problem",
    ask="What is {}, the remainder from 0 up? End your reply with the answer as a plain number.",
)
