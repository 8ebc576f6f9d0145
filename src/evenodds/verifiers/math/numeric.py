"""Values to many digits, for what is exact but no rational function: roots, π, e, sin, ln.

mpmath is imported on use. Sizes are bounded before every power and exponential, so that no tower of
them takes long; two values are called equal only where all digits but the last few agree.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from evenodds.verifiers.math.exact import UndefinedError, exact
from evenodds.verifiers.math.tree import Node, NotMathError

DIGITS = 70
SPARE = 20
CONFIRMING = 300
MAX_ARGUMENT = 500
MAX_MAGNITUDE = 850
"""Bits before or behind the point: no part of a sum is too small for the confirming digits."""
_SAME_NAME = ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "ln")
_INVERSE = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot"}
_FUNCTIONS = {name: name for name in (*_SAME_NAME, "floor", "ceil")} | _INVERSE


def evaluator(digits: int) -> Any:
    """An mpmath context with that many digits, one for each thread: it is changed while in use."""
    return _context(digits, threading.get_ident())


@lru_cache(maxsize=64)
def _context(digits: int, thread: int) -> Any:
    import mpmath

    context: Any = mpmath.MPContext()
    context.dps = digits
    return context


def value(node: Node, mp: Any, point: int, log_base: int = 0) -> Any:
    """The value of a tree, a real or complex mpmath number.

    point: which random values the variables take: positive for 0 and up, mixed signs below 0.
    log_base: what `\\log` without a base means: 0 natural, else the base.
    Raises NotMathError where it has no value or would be too large.
    """
    known = exact(node) if node.kind != "sym" else None
    if known is not None:
        return mp.mpf(known.numerator) / known.denominator
    if node.kind == "sym":
        return _symbol(node.name, mp, point)
    if node.kind not in ("+", "*", "/", "^", "neg", "abs", "call", "percent", "deg", "!", "binom"):
        raise NotMathError(f"a {node.kind} has no value")
    values = [value(arg, mp, point, log_base) for arg in node.args]
    result = _applied(node, values, mp, log_base)
    if not mp.isfinite(result):
        raise UndefinedError("it has no finite value")
    if abs(_magnitude(result, mp)) > MAX_MAGNITUDE:
        raise NotMathError("its value is too large or too small")
    return result


def _symbol(name: str, mp: Any, point: int) -> Any:
    if name == "pi":
        return +mp.pi
    if name == "e":
        return +mp.e
    if name == "i":
        return mp.mpc(0, 1)
    seed = blake2b(f"{name}|{point}".encode("utf-8", "replace"), digest_size=16).digest()
    share = mp.mpf(int.from_bytes(seed[:15], "big")) / 2**120
    size = mp.mpf(3) / 10 + share * 2
    return -size if point < 0 and seed[15] % 2 else size


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
        raise NotMathError("its power is too large")
    if abs(_magnitude(base, mp)) * abs(exponent) > MAX_MAGNITUDE:
        raise NotMathError("its power is too large")
    if base == 0 and (mp.im(exponent) != 0 or mp.re(exponent) <= 0):
        raise UndefinedError("zero has no such power")
    return mp.power(base, exponent)


def _counted(kind: str, values: list[Any], mp: Any) -> Any:
    if any(abs(number) > 500 for number in values):
        raise NotMathError("its factorial is too large")
    return mp.factorial(values[0]) if kind == "!" else mp.binomial(*values)


def _called(name: str, values: list[Any], mp: Any, log_base: int) -> Any:
    if any(abs(_magnitude(number, mp)) > 60 for number in values) or len(values) != 1:
        raise NotMathError("its argument is too large")
    if name in ("sinh", "cosh", "tanh", "coth") and abs(values[0]) > MAX_ARGUMENT:
        raise NotMathError("its argument is too large")
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
