"""Values to many digits, for what is exact but no rational function: roots, π, e, sin, ln.

mpmath is imported on use. Sizes are bounded before every power and exponential, so that no tower of
them takes long; two values are called equal only where all digits but the last few agree.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from evenodds.verifiers.math.exact import UndefinedError, exact, varying
from evenodds.verifiers.math.tree import Node, NotMathError

DIGITS = 70
SPARE = 20
CONFIRMING = 300
MAX_ARGUMENT = 500
MAX_MAGNITUDE = 850
"""Bits before or behind the point: no part of a sum is too small for the confirming digits."""
_SAME_NAME = ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "ln")
_INVERSE = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot"}
_BITS = 120
_FUNCTIONS = {name: name for name in (*_SAME_NAME, "floor", "ceil")} | _INVERSE


Sign = Literal["+", "-", "each"]


class OutOfRangeError(NotMathError):
    """A value that is too large or too small to be compared, at this point."""


class Point(NamedTuple):
    """Values for the variables of a tree, drawn from what is compared: nobody can aim at them.

    seed: what they are drawn from. least, most: their sizes. sign: of all of them, or each its own.
    is_real: whether a root or a logarithm that leaves the real numbers is undefined here.
    """

    seed: bytes = b""
    least: float = 0.3
    most: float = 2.3
    sign: Sign = "+"
    is_real: bool = False


ANY = Point()


def evaluator(digits: int) -> Any:
    """An mpmath context with that many digits, one for each thread: it is changed while in use."""
    return _context(digits, threading.get_ident())


@lru_cache(maxsize=64)
def _context(digits: int, thread: int) -> Any:
    import mpmath

    context: Any = mpmath.MPContext()
    context.dps = digits
    return context


def value(node: Node, mp: Any, point: Point, log_base: int = 0) -> Any:
    """The value of a tree, a real or complex mpmath number.

    log_base: what `\\log` without a base means: 0 natural, else the base.
    Raises UndefinedError where it has no value, OutOfRangeError where it would be too large, and
    NotMathError where it is nothing that has one.
    """
    return _value(node, mp, point, log_base, varying(node))


def _value(node: Node, mp: Any, point: Point, log_base: int, unknown: set[int]) -> Any:
    known = None if id(node) in unknown else exact(node)
    if known is not None:
        return mp.mpf(known.numerator) / known.denominator
    if node.kind == "sym":
        return _symbol(node.name, mp, point)
    if node.kind not in ("+", "*", "/", "^", "neg", "abs", "call", "percent", "deg", "!", "binom"):
        raise NotMathError(f"a {node.kind} has no value")
    values = [_value(arg, mp, point, log_base, unknown) for arg in node.args]
    result = _applied(node, values, mp, log_base)
    if not mp.isfinite(result):
        raise UndefinedError("it has no finite value")
    if point.is_real and mp.im(result) != 0:
        raise UndefinedError("it leaves the real numbers")
    if abs(_magnitude(result, mp)) > MAX_MAGNITUDE:
        raise OutOfRangeError("its value is too large or too small")
    return result


@lru_cache(maxsize=256)  # one variable stands at many places
def _symbol(name: str, mp: Any, point: Point) -> Any:
    if name == "pi":
        return +mp.pi
    if name == "e":
        return +mp.e
    if name == "i":
        return mp.mpc(0, 1)
    drawn = blake2b(name.encode("utf-8", "replace"), digest_size=16, key=point.seed).digest()
    share = mp.mpf(int.from_bytes(drawn[:15], "big")) / 2**_BITS
    size = point.least + share * (mp.mpf(point.most) - point.least)
    is_minus = drawn[15] % 2 if point.sign == "each" else point.sign == "-"
    return -size if is_minus else size


def _applied(node: Node, values: list[Any], mp: Any, log_base: int) -> Any:
    if node.kind == "+":
        return mp.fsum(values)
    if node.kind == "neg":
        return -values[0]
    if node.kind == "*":
        return values[0] * values[1]
    if node.kind == "/":
        return _quotient(values[0], values[1])
    if node.kind == "^":
        return _power(values[0], values[1], mp)
    if node.kind == "abs":
        return abs(values[0])
    if node.kind == "percent":
        return values[0] / 100
    if node.kind == "deg":
        return values[0] * mp.pi / 180
    if node.kind in ("!", "binom"):
        return _counted(node.kind, values, mp)
    return _called(node.name, values, mp, log_base)


def _quotient(top: Any, bottom: Any) -> Any:
    if bottom == 0:
        raise UndefinedError("it divides by zero")
    return top / bottom


def _magnitude(number: Any, mp: Any) -> Any:
    return mp.mag(number) if number != 0 else 0


def _power(base: Any, exponent: Any, mp: Any) -> Any:
    if abs(exponent) > MAX_ARGUMENT or abs(_magnitude(base, mp)) > MAX_MAGNITUDE:
        raise OutOfRangeError("its power is too large")
    if abs(_magnitude(base, mp)) * abs(exponent) > MAX_MAGNITUDE:
        raise OutOfRangeError("its power is too large")
    if base == 0 and (mp.im(exponent) != 0 or mp.re(exponent) <= 0):
        raise UndefinedError("zero has no such power")
    return mp.power(base, exponent)


def _counted(kind: str, values: list[Any], mp: Any) -> Any:
    if any(abs(number) > 500 for number in values):
        raise OutOfRangeError("its factorial is too large")
    return mp.factorial(values[0]) if kind == "!" else mp.binomial(*values)


def _called(name: str, values: list[Any], mp: Any, log_base: int) -> Any:
    if any(abs(_magnitude(number, mp)) > 60 for number in values) or len(values) != 1:
        raise OutOfRangeError("its argument is too large")
    if name in ("sinh", "cosh", "tanh", "coth") and abs(values[0]) > MAX_ARGUMENT:
        raise OutOfRangeError("its argument is too large")
    if name == "log":
        logarithm = mp.ln(values[0])
        return logarithm / mp.ln(log_base) if log_base else logarithm
    if name not in _FUNCTIONS:
        raise NotMathError(f"the function {name} has no value here")
    try:
        return getattr(mp, _FUNCTIONS[name])(values[0])
    except (ZeroDivisionError, ValueError) as error:
        raise UndefinedError("it has no value") from error


def agree(left: Any, right: Any, mp: Any) -> bool:
    """Whether two values are equal in all digits that were carried, but for the last few."""
    size = max(abs(left), abs(right))
    return size == 0 or abs(left - right) <= size * mp.mpf(10) ** (SPARE - mp.dps)
