"""Sets of real numbers as sorted pieces: intervals and points, from brackets or inequalities."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from evenodds.verifiers.math import numeric
from evenodds.verifiers.math.exact import exact, residue
from evenodds.verifiers.math.tree import Node, NotMathError, minus, num, symbols

INFINITY = Node("inf")
LEAST = Node("neg", (INFINITY,))
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CONSTANTS = frozenset(["pi", "e", "i"])
_REALS = Node("sym", (), "reals")
_EMPTY = Node("sym", (), "empty")


def piece(low: Node, high: Node, brackets: str) -> Node:
    left = "(" if low == LEAST else brackets[0]
    right = ")" if high == INFINITY else brackets[1]
    return Node("piece", (low, high), left + right)


def region(*pieces: Node, name: str = "") -> Node:
    """Pieces in order of their ends, those that touch made one."""
    if len(pieces) < 2:
        return Node("region", pieces, name)
    ordered = sorted(pieces, key=lambda item: (_place(item.args[0]), item.name[0] == "("))
    merged = [ordered[0]]
    for item in ordered[1:]:
        merged[-1:] = _merged(merged[-1], item)
    return Node("region", tuple(merged), name)


def _merged(left: Node, right: Node) -> list[Node]:
    end, start = _place(left.args[1]), _place(right.args[0])
    if end < start or (end == start and left.name[1] == ")" and right.name[0] == "("):
        return [left, right]
    last = max((left, right), key=lambda item: (_place(item.args[1]), item.name[1] == "]"))
    return [piece(left.args[0], last.args[1], left.name[0] + last.name[1])]


@lru_cache(maxsize=4096)
def _place(node: Node) -> Fraction:
    """The place of an end on the line, exact for rationals; infinity is far away."""
    far = Fraction(10**400)
    if node in (LEAST, INFINITY):
        return far if node == INFINITY else -far
    value = exact(node)
    if value is not None:
        return value
    if symbols(node) - _CONSTANTS:
        raise NotMathError("the ends of its intervals are not numbers")
    mp = numeric.evaluator(50)
    real = numeric.value(node, mp, numeric.ANY)
    if mp.im(real) != 0:
        raise NotMathError("the ends of its intervals are not real")
    return Fraction(int(mp.floor(mp.re(real) * 10**40)), 10**40)


def has_infinity(node: Node) -> bool:
    return any(part in (INFINITY, LEAST) for part in node.args)


def from_group(node: Node) -> Node:
    """`(a, b]` as a region; a set in braces as points. Raises NotMathError for other groups."""
    if node == _REALS:
        return region(piece(LEAST, INFINITY, "()"))
    if node == _EMPTY:
        return Node("region")
    if node.kind == "region":
        return node
    if node.kind != "group":
        raise NotMathError("it is no interval")
    if node.name == "{}":
        return region(*(piece(part, part, "[]") for part in node.args))
    if len(node.args) != 2:
        raise NotMathError("an interval has two ends")
    return region(piece(node.args[0], node.args[1], node.name))


def combined(node: Node) -> Node:
    """A union, intersection or difference, worked out."""
    left, right = (
        combined(arg) if arg.kind in ("union", "inter", "minus") else arg for arg in node.args
    )
    if _is_set(left) and _is_set(right) and node.kind == "union":
        return Node("group", left.args + right.args, "{}")
    first, second = from_group(left), from_group(right)
    if node.kind == "union":
        return region(*first.args, *second.args)
    if node.kind == "inter":
        return _intersection(first, second)
    for point in second.args:
        if point.args[0] != point.args[1]:
            raise NotMathError("only points are taken out of a set")
        first = without(first, point.args[0])
    return first


def _is_set(node: Node) -> bool:
    return node.kind == "group" and node.name == "{}"


def without(whole: Node, point: Node) -> Node:
    """A region without one point."""
    place, parts = _place(point), list[Node]()
    for item in whole.args:
        low, high = _place(item.args[0]), _place(item.args[1])
        if low < place < high:
            parts.append(piece(item.args[0], point, item.name[0] + ")"))
            parts.append(piece(point, item.args[1], "(" + item.name[1]))
        elif place in (low, high):
            left = "(" if place == low else item.name[0]
            right = ")" if place == high else item.name[1]
            parts += [] if low == high else [piece(item.args[0], item.args[1], left + right)]
        else:
            parts.append(item)
    return Node("region", tuple(parts), whole.name)


def _intersection(first: Node, second: Node) -> Node:
    parts: list[Node] = []
    for left in first.args:
        for right in second.args:
            parts += _overlap(left, right)
    return region(*parts, name=first.name)


def _overlap(left: Node, right: Node) -> list[Node]:
    low = max((left, right), key=lambda item: (_place(item.args[0]), item.name[0] == "("))
    high = min((left, right), key=lambda item: (_place(item.args[1]), item.name[1] == "]"))
    start, end = _place(low.args[0]), _place(high.args[1])
    brackets = low.name[0] + high.name[1]
    if start > end or (start == end and brackets != "[]"):
        return []
    return [piece(low.args[0], high.args[1], brackets)]


def from_inequality(node: Node, is_gold: bool) -> Node:
    """The region of a chain of inequalities in one variable; else an `order` to be compared.

    The variable has to stand alone, a minus aside, for `2x + 3 < 5` is a question and no answer;
    only a gold is solved. An `order` has its sides from small to large, and its signs as name.
    """
    sides, signs = tuple(map(_as_variable, node.args)), node.name.split()
    if signs[0] in (">", ">="):
        sides, signs = sides[::-1], [_FLIPPED[sign] for sign in signs[::-1]]
    solved = _solved(sides, signs, is_gold)
    return solved or Node("order", sides, " ".join(signs))


def _as_variable(side: Node) -> Node:
    """`f(x)` alone on a side of an inequality is what it is about."""
    is_applied = side.kind == "call" and len(side.name) == 1 and side.args[0].kind == "sym"
    return Node("sym", (), f"{side.name}({side.args[0].name})") if is_applied else side


def _solved(sides: tuple[Node, ...], signs: list[str], is_gold: bool) -> Node | None:
    parts: list[Node] = []
    for i, sign in enumerate(signs):
        part = _half(sides[i], sides[i + 1], sign == "<=", is_gold)
        if part is None or (parts and part.name != parts[0].name):
            return None
        parts.append(part)
    if len(parts) == 1:
        return parts[0]
    both = _intersection(parts[0], parts[1]) if len(parts) == 2 else None
    return both if both is not None and both.args else None


def _half(low: Node, high: Node, is_closed: bool, is_gold: bool) -> Node | None:
    """The half-line where low < high, if the two are linear in one variable between them."""
    name = _variable(low, high)
    if name is None:
        return None
    brackets = "[]" if is_closed else "()"
    variable = Node("sym", (), name)
    if low == variable and not symbols(high) - _CONSTANTS:
        return region(piece(LEAST, high, brackets), name=name)
    if high == variable and not symbols(low) - _CONSTANTS:
        return region(piece(low, INFINITY, brackets), name=name)
    if is_gold and Node("abs", (variable,)) in (low, high):
        return _around_zero(low, high, brackets, name)
    line = _linear(minus(high, low), name)
    alone = Node("neg", (variable,)) in (low, high)
    if line is None or not (is_gold or alone):
        return None
    slope, start = line
    end = num(-start / slope)
    if slope > 0:
        return region(piece(end, INFINITY, brackets), name=name)
    return region(piece(LEAST, end, brackets), name=name)


def _around_zero(low: Node, high: Node, brackets: str, name: str) -> Node | None:
    """The region of `|x| < c` or `c < |x|`."""
    bound = high if low.kind == "abs" else low
    if symbols(bound) - _CONSTANTS or _place(bound) <= 0:
        return None
    if low.kind == "abs":
        return region(piece(Node("neg", (bound,)), bound, brackets), name=name)
    outer = piece(LEAST, Node("neg", (bound,)), brackets), piece(bound, INFINITY, brackets)
    return region(*outer, name=name)


def _variable(low: Node, high: Node) -> str | None:
    names = (symbols(low) | symbols(high)) - _CONSTANTS
    return next(iter(names)) if len(names) == 1 else None


def _linear(node: Node, name: str) -> tuple[Fraction, Fraction] | None:
    """Slope and value at zero, where the tree is linear with rational coefficients."""
    at = [exact(substituted(node, name, num(place))) for place in (0, 1)]
    if at[0] is None or at[1] is None or at[0] == at[1]:
        return None
    slope = at[1] - at[0]
    line = Node("+", (Node("*", (num(slope), Node("sym", (), name))), num(at[0])))
    return (slope, at[0]) if residue(line, 7) == residue(node, 7) else None


def substituted(node: Node, name: str, value: Node) -> Node:
    if node.kind == "sym":
        return value if node.name == name else node
    return node._replace(args=tuple(substituted(arg, name, value) for arg in node.args))


def joined(parts: list[Node], join: str) -> Node | None:
    """Several conditions on one variable as one region; None where they are not such.

    `or` unites. Otherwise all hold together, unless nothing meets them all: `x < 1, x > 5`.
    """
    whole = [part for part in parts if part.kind == "region"]
    points = [part for part in parts if part.kind == "eq" and part.name == "!="]
    if not whole or len(whole) + len(points) != len(parts):
        return _points_out(points) if points and len(points) == len(parts) else None
    if len({part.name for part in whole}) != 1:
        return None
    total = whole[0]
    for part in whole[1:]:
        both = _intersection(total, part) if join != "or" else Node("region")
        total = both if both.args else region(*total.args, *part.args, name=total.name)
    for point in points:
        total = _point_out(total, point)
    return total


def _points_out(points: list[Node]) -> Node | None:
    first = points[0].args[0]
    if len(points) < 2 or first.kind != "sym":
        return None
    total = region(piece(LEAST, INFINITY, "()"), name=first.name)
    for point in points:
        total = _point_out(total, point)
    return total


def _point_out(total: Node, point: Node) -> Node:
    variable, value = point.args
    if variable.kind != "sym" or variable.name != total.name or symbols(value) - _CONSTANTS:
        raise NotMathError("what is excluded is no point of the set")
    return without(total, value)
