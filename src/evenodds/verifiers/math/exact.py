"""Exact values: rationals, and identity of formulas by their residues modulo a large prime.

A rational function is decided by its value at random points of a prime field (Schwartz–Zippel):
two that differ agree at a random point with a probability below degree / 2^191. Prime and points
are secrets of the process, for with known ones an answer could be made that agrees there, such as
the gold plus the prime. What is no rational function (roots, π, sin) becomes an atom whose residue
is a hash of its name and of the residues of its arguments, so that equal arguments give equal
atoms. Equal residues therefore mean equal formulas; unequal residues mean unequal ones only where
no atom took part.
"""

from __future__ import annotations

import math
import secrets
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b

from evenodds.verifiers.math.tree import Node, NotMathError

SMALL_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83)


def _is_prime(number: int) -> bool:
    """Whether a random number of the form 8k + 5 is prime, by Miller–Rabin: 8k + 4 = 4 (2k + 1)."""
    if any(number % small == 0 for small in SMALL_PRIMES):
        return False
    for base in (2, *SMALL_PRIMES[:11]):
        power = pow(base, (number - 1) // 4, number)
        if power not in (1, number - 1) and pow(power, 2, number) != number - 1:
            return False
    return True


def _random_prime(bits: int) -> int:
    """A random prime with a rest of 5 by 8, where 2 is no square: 2^((p-1)/4) is a root of -1."""
    while True:
        candidate = (1 << (bits - 1)) + secrets.randbits(bits - 4) * 8 + 5
        if _is_prime(candidate):
            return candidate


PRIME = _random_prime(192)
IMAGINARY = pow(2, (PRIME - 1) // 4, PRIME)
_KEY = secrets.token_bytes(16)
MAX_BITS = 40_000
MAX_FACTORIAL = 3_000
MAX_BELOW = 60
_PLAIN = frozenset(["num", "+", "*", "/", "^", "neg", "sym", "percent", "ratio"])


class UndefinedError(NotMathError):
    """A division by zero or 0^0: equal to nothing."""


def exact(node: Node) -> Fraction | None:
    """The rational value of a tree; None where it has none or is too large.

    Raises UndefinedError for a division by zero.
    """
    if node.kind == "num":
        return node.number
    if node.kind == "base":
        return _based(node)
    if node.kind not in ("+", "*", "/", "^", "neg", "!", "abs", "binom", "call", "deg"):
        return None
    values = [exact(arg) for arg in node.args]
    known = [value for value in values if value is not None]
    if len(known) != len(values) or not known:
        return None
    return _bounded(_applied(node, known))


def varying(node: Node) -> set[int]:
    """The ids of all nodes of a tree that hold a symbol, and so are no rational number.

    Without it every node of a long product would be worked out once for each node above it.
    """
    found: set[int] = set()
    _find_varying(node, found)
    return found


def _find_varying(node: Node, found: set[int]) -> bool:
    is_varying = node.kind == "sym"
    for arg in node.args:
        is_varying = _find_varying(arg, found) or is_varying
    if is_varying:
        found.add(id(node))
    return is_varying


def _bounded(value: Fraction | None) -> Fraction | None:
    if value is None:
        return None
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    return value if bits <= MAX_BITS else None


def _applied(node: Node, values: list[Fraction]) -> Fraction | None:
    if node.kind == "+":
        return sum(values, Fraction(0))
    if node.kind == "neg":
        return -values[0]
    if node.kind == "*":
        return math.prod(values, start=Fraction(1))
    if node.kind == "/":
        return _quotient(values[0], values[1])
    if node.kind == "^":
        return _power(values[0], values[1])
    if node.kind == "abs":
        return abs(values[0])
    if node.kind in ("!", "binom"):
        return _counted(node.kind, values)
    return _called(node.name, values) if node.kind == "call" else None


def _quotient(top: Fraction, bottom: Fraction) -> Fraction:
    if bottom == 0:
        raise UndefinedError("it divides by zero")
    return top / bottom


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        return _root(base, exponent)
    if base == 0 and exponent <= 0:
        raise UndefinedError("zero has no such power")
    bits = base.numerator.bit_length() + base.denominator.bit_length()
    if abs(base) not in (0, 1) and bits * abs(exponent.numerator) > 2 * MAX_BITS:
        return None
    return base**exponent.numerator if abs(base) != 1 else _unit_power(base, exponent.numerator)


def _unit_power(base: Fraction, exponent: int) -> Fraction:
    return Fraction(1) if base == 1 or exponent % 2 == 0 else Fraction(-1)


def _root(base: Fraction, exponent: Fraction) -> Fraction | None:
    """The root of a positive perfect power, such as 8^(2/3)."""
    degree = exponent.denominator
    if base < 0 or degree > 64 or base.numerator.bit_length() > 2_000:
        return None
    top, bottom = _whole_root(base.numerator, degree), _whole_root(base.denominator, degree)
    if top is None or bottom is None or (top == 0 and exponent < 0):
        return None
    return _power(Fraction(top, bottom), Fraction(exponent.numerator))


def _whole_root(value: int, degree: int) -> int | None:
    if degree == 2:
        root = math.isqrt(value)
    else:
        low, high = 0, 1 << (value.bit_length() // degree + 1)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
        root = low
    return root if root**degree == value else None


def _counted(kind: str, values: list[Fraction]) -> Fraction | None:
    if any(value.denominator != 1 or not 0 <= value <= MAX_FACTORIAL for value in values):
        return None
    if kind == "!":
        return _factorial(values[0].numerator)
    return Fraction(math.comb(values[0].numerator, values[1].numerator))


@lru_cache(maxsize=256)
def _factorial(number: int) -> Fraction:
    return Fraction(math.factorial(number))


def _called(name: str, values: list[Fraction]) -> Fraction | None:
    if name in ("floor", "ceil"):
        return Fraction(math.floor(values[0]) if name == "floor" else math.ceil(values[0]))
    if name in ("max", "min"):
        return max(values) if name == "max" else min(values)
    if name in ("gcd", "lcm") and all(value.denominator == 1 for value in values):
        whole = [value.numerator for value in values]
        return Fraction(math.gcd(*whole) if name == "gcd" else math.lcm(*whole))
    return None


def _based(node: Node) -> Fraction | None:
    digits, base = node.args[0].name, node.args[1].number.numerator
    try:
        return Fraction(int(digits, base))
    except ValueError:
        return None


def residue(node: Node, point: int) -> int:
    """The residue of a tree where every variable is a random element chosen by `point`.

    Raises UndefinedError where a denominator vanishes, NotMathError for what is no expression.
    """
    return _residue(node, point, varying(node))


def _residue(node: Node, point: int, unknown: set[int]) -> int:
    kind = node.kind
    if kind == "num":
        return _modular(node.number)
    if kind == "sym":
        return IMAGINARY if node.name == "i" else _atom("sym", (), point, node.name)
    if kind in ("inf", "text", "group", "list", "rel", "matrix", "unit", "pm"):
        raise NotMathError(f"a {kind} is no number")
    value = None if id(node) in unknown else exact(node)
    if value is not None:
        return _modular(value)
    if kind == "^":
        return _residue_power(node, point)
    if _is_polynomial(node):
        return _residue_binomial(node, point)
    return _combined(node, [_residue(arg, point, unknown) for arg in node.args], point)


def _is_polynomial(node: Node) -> bool:
    """Whether it is a binomial coefficient over a small whole number, such as C(n, 2)."""
    below = exact(node.args[1]) if node.kind == "binom" else None
    return below is not None and below.denominator == 1 and 0 <= below <= MAX_BELOW


def _residue_binomial(node: Node, point: int) -> int:
    top, below = residue(node.args[0], point), exact(node.args[1]) or Fraction(0)
    product = 1
    for i in range(below.numerator):
        product = product * (top - i) * pow(i + 1, -1, PRIME) % PRIME
    return product


def _modular(value: Fraction) -> int:
    return value.numerator * pow(value.denominator, -1, PRIME) % PRIME


def _combined(node: Node, values: list[int], point: int) -> int:
    if node.kind == "+":
        return sum(values) % PRIME
    if node.kind == "*":
        return math.prod(values) % PRIME
    if node.kind == "neg":
        return -values[0] % PRIME
    if node.kind in ("/", "ratio") and len(values) == 2:
        if values[1] == 0:
            raise UndefinedError("it divides by zero")
        return values[0] * pow(values[1], -1, PRIME) % PRIME
    if node.kind == "percent":
        return values[0] * pow(100, -1, PRIME) % PRIME
    if node.kind == "abs":
        values = [min(values[0], PRIME - values[0])]
    return _atom(node.kind, tuple(values), point, node.name)


def _residue_power(node: Node, point: int) -> int:
    base = residue(node.args[0], point)
    exponent = exact(node.args[1])
    if exponent is not None and exponent.denominator == 1:
        if base == 0 and exponent <= 0:
            raise UndefinedError("zero has no such power")
        return pow(base, exponent.numerator, PRIME)
    if exponent is not None:
        # x^{5/2} is the fifth power of one atom, the square root of x
        root = _atom("root", (base,), 0, str(exponent.denominator))
        return pow(root, exponent.numerator, PRIME) if base else 0
    return _atom("^", (base, residue(node.args[1], point)), 0, "")


def _atom(kind: str, values: tuple[int, ...], point: int, name: str) -> int:
    # constants and functions do not depend on the point but through their arguments
    seed = point if kind == "sym" and name not in ("pi", "e") else 0
    text = f"{kind}|{name}|{seed}|{values}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(text, digest_size=40, key=_KEY).digest(), "big") % PRIME


def is_rational_function(node: Node) -> bool:
    """Whether residues decide both ways: rationals, variables, i, + − × ÷ and whole powers."""
    if _is_polynomial(node):
        return is_rational_function(node.args[0])
    if node.kind not in _PLAIN:
        return exact(node) is not None if node.kind in ("!", "binom", "abs") else False
    if node.kind == "sym":
        return node.name not in ("pi", "e")
    if node.kind == "^":
        exponent = exact(node.args[1])
        whole = exponent is not None and exponent.denominator == 1
        return exact(node) is not None or (whole and is_rational_function(node.args[0]))
    return all(map(is_rational_function, node.args))
