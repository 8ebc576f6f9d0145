"""Two formulas in variables that are no rational functions: their values at many points.

Compared are the points where both are real, of both signs and of several sizes, so that `√(x²)` is
not `x`. A root or a logarithm bounds where a formula is real, and the other need not have the same
bounds: `√x·√y` is `√(xy)`. Bars do not: `ln(-x)` is not `ln|x|`, for they are real elsewhere.
Formulas that are hardly ever real, or that hold i, are compared by their principal values.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from evenodds.verifiers.math import numeric
from evenodds.verifiers.math.exact import UndefinedError
from evenodds.verifiers.math.numeric import OutOfRangeError, Point, Sign
from evenodds.verifiers.math.tree import Node, NotMathError, kinds, symbols

FEWEST, CONFIRMED = 2, 2
LARGEST_SCALE = 10**6
BUDGET = 800
"""How many values of functions are worked out at most, all points together."""
_COST = {"call": 1, "^": 1, "!": 4, "binom": 20}
_UNIT, _SMALL, _LARGE = (0.3, 2.3), (0.02, 0.3), (3.0, 12.0)


def points(gold: Node, answer: Node, is_real: bool) -> list[Point]:
    """Points drawn from both formulas: the same at every comparison, and nothing to aim at."""
    seed = blake2b(repr((gold, answer)).encode("utf-8", "replace"), digest_size=32).digest()
    scale = float(max(_scale(gold), _scale(answer)))
    beyond = (1.1 * scale, 3.0 * scale)
    shapes: list[tuple[tuple[float, float], Sign]] = [
        *((_UNIT, "+"), (_UNIT, "-"), (beyond, "+"), (beyond, "-"), (_UNIT, "each")),
        *((_SMALL, "-"), (_SMALL, "+"), (_LARGE, "-"), (_LARGE, "+")),
    ]
    most = BUDGET // (1 + _cost(gold) + _cost(answer))
    if most < FEWEST + CONFIRMED:
        raise NotMathError("its formulas are too long to compare")
    return [
        Point(seed + bytes([i]), size[0], size[1], sign, is_real)
        for i, (size, sign) in enumerate(shapes[:most])
    ]


def _cost(node: Node) -> int:
    return _COST.get(node.kind, 0) + sum(map(_cost, node.args))


def _scale(node: Node) -> int:
    """The size of the largest number in a formula: beyond it bars and roots show their sides."""
    own = int(abs(node.number)) if node.kind == "num" else 0
    return max([1, min(own, LARGEST_SCALE), *map(_scale, node.args)])


def same(gold: Node, answer: Node, digits: tuple[int, int], base: int) -> bool:
    """Whether two formulas have the same values, first to fewer digits and then to more."""
    is_real = "i" not in symbols(gold) | symbols(answer)
    met = _met(gold, answer, points(gold, answer, is_real), digits[0], base)
    if is_real and met is not None and len(met) < FEWEST:
        met = _met(gold, answer, points(gold, answer, False), digits[0], base)
    if not met or len(met) < FEWEST:
        return False
    again = met[:CONFIRMED]
    return _met(gold, answer, again, digits[1], base) == again


def _met(
    gold: Node, answer: Node, places: Sequence[Point], digits: int, base: int
) -> list[Point] | None:
    """The points where both have a value, and it is the same; None where one differs."""
    mp = numeric.evaluator(digits)
    has_bars = "abs" in kinds(gold) | kinds(answer)
    met: list[Point] = []
    for place in places:
        try:
            pair = [_value(node, mp, place, base) for node in (gold, answer)]
        except OutOfRangeError:
            continue
        if pair[0] is None or pair[1] is None:
            if has_bars and pair[0] is not pair[1]:
                return None
            continue
        if not numeric.agree(pair[0], pair[1], mp):
            return None
        met.append(place)
    return met


def _value(node: Node, mp: Any, place: Point, base: int) -> Any:
    """The value at a point; None where there is none."""
    try:
        return numeric.value(node, mp, place, base)
    except UndefinedError:
        return None
