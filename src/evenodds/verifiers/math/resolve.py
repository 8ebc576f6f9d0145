"""What a statement claims: names are parted from values, inequalities become sets of numbers.

Kinds added to those of the tree: `fact` (left, right: `2^5 = 32`), `named` (value, what is named;
its label as name), `assign` (of named), `eq` (left, right; the sign as name), `order` (a chain that
is no set), `region` of `piece`s (two ends; its brackets as name).
"""

from __future__ import annotations

from fractions import Fraction

from evenodds.verifiers.math import matrices, regions
from evenodds.verifiers.math.equal import expression
from evenodds.verifiers.math.exact import exact
from evenodds.verifiers.math.policy import Policy
from evenodds.verifiers.math.tree import (
    Node,
    NotMathError,
    is_decimal,
    is_literal,
    is_whole_sum,
    kinds,
    symbols,
)

CONSTANTS = frozenset(["pi", "e", "i", "reals", "empty"])
_EQUAL = frozenset(["=", "~"])


class SeveralError(NotMathError):
    """An answer that contradicts itself: `43 = 42`, `42 ≈ 43`."""


def resolve(node: Node, policy: Policy, is_gold: bool) -> Node:
    """The claim of a statement. Raises SeveralError for an answer that contradicts itself."""
    if node.kind == "rel":
        return _relation(node, policy, is_gold)
    if node.kind == "list":
        return _list([resolve(part, policy, is_gold) for part in node.args], node.name)
    if node.kind == "builder":
        return _unnamed(resolve(node.args[1], policy, is_gold))
    if node.kind in ("union", "inter", "minus"):
        return regions.combined(node)
    if node.kind == "group" and node.name in ("[)", "(]"):
        return regions.from_group(node)
    if node.kind == "group" and any(part.kind in ("inf", "neg") for part in node.args):
        return regions.from_group(node) if regions.has_infinity(node) else node
    return expanded(matrices.worked(node))


def _unnamed(node: Node) -> Node:
    return node.args[0] if node.kind == "named" else node


def expanded(node: Node) -> Node:
    """`1 ± a` as the list of its two values; the signs of one expression go together."""
    if "pm" not in kinds(node):
        return node
    return Node("list", (_with_sign(node, 1), _with_sign(node, -1)), "or")


def _with_sign(node: Node, sign: int) -> Node:
    if node.kind == "pm":
        inside = _with_sign(node.args[0], sign)
        is_minus = (sign < 0) != (node.name == "-")
        return Node("neg", (inside,)) if is_minus else inside
    if not node.args:
        return node
    return node._replace(args=tuple(_with_sign(arg, sign) for arg in node.args))


def label(node: Node) -> str | None:
    """How a side names a value: `x`, `f(x)`, `AB`, `|AB|`, `S:T`, `(x,y)`, words; else None."""
    if node.kind == "sym" and node.name not in CONSTANTS:
        return node.name
    if node.kind == "text":
        return node.name.lower()
    if node.kind == "unit" and label(node.args[0]) is not None:
        return None
    if node.kind == "call" and len(node.name.strip("'").removesuffix("^-1")) == 1:
        return f"{node.name}({','.join(map(_written, node.args))})"
    if node.kind in ("abs", "ratio") or (node.kind == "group" and node.name == "()"):
        inside = [label(arg) for arg in node.args]
        return f"{node.kind}({','.join(map(str, inside))})" if all(inside) else None
    if node.kind == "*" and node.name == "()" and node.args[1].kind in ("sym", "num"):
        return f"{node.args[0].name}({_written(node.args[1])})"
    if node.kind in ("*", "/") and _is_points(node):
        return "".join(sorted(symbols(node)))
    return None


def _written(node: Node) -> str:
    return node.name or str(node.number)


def _is_points(node: Node) -> bool:
    """`AB`, `\\frac{AB}{CD}`, `P(x)`: a product that begins with a capital letter."""
    if node.kind == "/":
        return all(arg.kind == "*" and _is_points(arg) for arg in node.args)
    while node.kind == "*":
        if node.args[1].kind != "sym":
            return False
        node = node.args[0]
    return node.kind == "sym" and node.name[:1].isupper()


def _relation(node: Node, policy: Policy, is_gold: bool) -> Node:
    signs = node.name.split()
    if all(sign in _EQUAL for sign in signs):
        return _equation(node.args, signs, policy, is_gold)
    if signs == ["equiv"] and not is_gold:
        return _congruence(node, policy, is_gold)
    if signs == ["in"]:
        return _member(node, policy, is_gold)
    if signs == ["!="]:
        return Node("eq", node.args, "!=")
    if len(signs) == 2 and signs[0] == "=" and label(node.args[0]) is not None:
        return _relation(Node("rel", node.args[1:], signs[1]), policy, is_gold)
    if all(sign in ("<", "<=") for sign in signs) or all(sign in (">", ">=") for sign in signs):
        return regions.from_inequality(node, is_gold)
    raise NotMathError("its relation signs do not go together")


def _congruence(node: Node, policy: Policy, is_gold: bool) -> Node:
    """`2023 \\equiv 3 \\pmod 5` says 3; a false one of whole numbers contradicts itself."""
    left, right = node.args
    if right.kind != "unit" or not right.name.startswith("mod ") or symbols(left):
        raise NotMathError("a congruence has no modulus, or is about an unknown number")
    values, modulus = (_number(left), _number(right)), Fraction(right.name[4:])
    if None not in values and modulus and ((values[0] or 0) - (values[1] or 0)) % modulus:
        raise SeveralError("two numbers are called congruent that are not")
    return resolve(right, policy, is_gold)


def _member(node: Node, policy: Policy, is_gold: bool) -> Node:
    value = resolve(node.args[1], policy, is_gold)
    if value.kind == "group" and value.name in ("()", "[]") and len(value.args) == 2:
        value = regions.from_group(value)
    name = label(node.args[0])
    if name is None:
        raise NotMathError("what is a member has no name")
    return Node("named", (value, node.args[0]), name)


def _equation(sides: tuple[Node, ...], signs: list[str], policy: Policy, is_gold: bool) -> Node:
    """`x = … = value ≈ rounded`: a named value, a bare value, or an equation to be compared."""
    count = signs.index("~") + 1 if "~" in signs else len(sides)
    if count == 1 and label(sides[0]) is not None:
        count = 2
    told = list(sides[:count])
    if not is_gold:
        _check(sides, count)
    name = label(told[0])
    if name is not None and len(told) > 1:
        return Node("named", (expanded(_last(told)), told[0]), name)
    if len(told) == 2 and label(told[1]) is not None and told[0].kind != "sym":
        return Node("named", (expanded(told[0]), told[1]), str(label(told[1])))
    last = sides[count - 1]
    if len(told) == 1:
        return expanded(last)
    if not any(symbols(side) - CONSTANTS for side in told):
        return Node("fact", (told[0], last)) if "pm" not in kinds(last) else expanded(last)
    if len(told) > 2 or expression(told[0], last, policy):
        return expanded(last)
    return Node("eq", tuple(told), "=")


def _last(sides: list[Node]) -> Node:
    """The last side that is no mere name; of `a = b` the second name."""
    for side in reversed(sides[1:]):
        if label(side) is None or side.kind == "text":
            return side
    return sides[-1]


def _check(sides: tuple[Node, ...], count: int) -> None:
    """Refuses plain numbers that are called equal and are not, and rounding of a whole number.

    A number that differs from the last one is let pass where another side confirms the last.
    """
    values = [_number(side) for side in sides[:count]]
    last = values[-1]
    if last is None:
        return
    is_plain = None not in values  # `z = 3 + 3 = 2` is about z
    for side, value in zip(sides[: count - 1], values, strict=False):
        is_sum = last.denominator == 1 and is_plain and is_whole_sum(side)
        differs = value is not None and value != last and (is_literal(side) or is_sum)
        if differs and not is_decimal(side) and not is_decimal(sides[count - 1]):
            written = zip(sides[: count - 1], values, strict=False)
            if not any(other == last and not is_literal(node) for node, other in written):
                raise SeveralError("two different numbers are called equal")
    for side in sides[count:]:
        value = _number(side)
        if value is not None and last.denominator == 1 and is_literal(side) and value != last:
            raise SeveralError("a whole number is said to be about another")


def _number(node: Node) -> Fraction | None:
    while node.kind in ("unit", "percent", "deg"):
        node = node.args[0]
    return None if node.kind == "text" else exact(node)


def _list(parts: list[Node], join: str) -> Node:
    if len({part.kind == "text" for part in parts}) > 1:
        raise NotMathError("words stand among its values")
    region = regions.joined(parts, join)
    if region is not None:
        return region
    flat = [item for part in parts for item in _items(part)]
    named = [part for part in flat if part.kind == "named"]
    if not named:
        return Node("list", tuple(flat), join)
    if flat[0].kind == "named" and len(named) == 1:
        values = tuple(_items(flat[0].args[0])) + tuple(flat[1:])
        return Node("named", (Node("list", values, join), flat[0].args[1]), flat[0].name)
    if len(named) != len(flat):
        return Node("list", tuple(flat), join)
    names = [part.name for part in named]
    if len(set(names)) == 1:
        values = tuple(item for part in named for item in _items(part.args[0]))
        return Node("named", (Node("list", values, join), named[0].args[1]), names[0])
    return _assigned(named, names)


def _items(part: Node) -> tuple[Node, ...]:
    return part.args if part.kind == "list" else (part,)


def _assigned(named: list[Node], names: list[str]) -> Node:
    """`p=5, q=2; p=7, q=2` is a list of two assignments, `a=1, b=2` is one."""
    period = len(set(names))
    if period == len(names):
        return Node("assign", tuple(named))
    if len(names) % period or any(names[i] != names[i % period] for i in range(len(names))):
        raise NotMathError("its names do not repeat in order")
    rows = [tuple(named[i : i + period]) for i in range(0, len(named), period)]
    return Node("list", tuple(Node("assign", row) for row in rows), "or")
