"""Whether two claims are the same: numbers, lists, tuples, sets, equations, regions, matrices."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evenodds.verifiers.math import numeric, regions
from evenodds.verifiers.math.equal import scalar
from evenodds.verifiers.math.exact import PRIME, residue
from evenodds.verifiers.math.policy import Policy
from evenodds.verifiers.math.resolve import CONSTANTS, expanded
from evenodds.verifiers.math.tree import Node, NotMathError, is_literal, minus, num, symbols

_ROOTS = re.compile(r"(x|z|t|\\lambda)_?\d$")
_STRUCTURES = frozenset(["group", "list", "matrix", "region", "assign", "eq", "order", "text"])
MAX_MATCHED = 60
MAX_CLEARED = 6
_EMPTY = Node("sym", (), "empty")


def same(gold: Node, answer: Node, policy: Policy) -> str | None:
    """How the claims of gold and answer are the same, in words; None where they are not."""
    try:
        return _same(gold, answer, policy)
    except NotMathError:
        return None


def _same(gold: Node, answer: Node, policy: Policy) -> str | None:
    if gold.kind == "named" or answer.kind == "named":
        return _named(gold, answer, policy)
    if "fact" in (gold.kind, answer.kind):
        return _facts(gold, answer, policy)
    if "region" in (gold.kind, answer.kind):
        return _regions(gold, answer, policy)
    if gold.kind == "eq" or answer.kind == "eq":
        return _equations(gold, answer)
    if gold.kind == "order" or answer.kind == "order":
        return _orders(gold, answer, policy)
    if gold.kind == "assign" or answer.kind == "assign":
        return _assigned(gold, answer, policy)
    if gold.kind == "matrix" or answer.kind == "matrix":
        return _matrices(gold, answer, policy)
    if gold.kind in ("group", "list") or answer.kind in ("group", "list"):
        return _collections(gold, answer, policy)
    if "ratio" in (_bare(gold).kind, _bare(answer).kind):
        halves = {node.name for node in (gold, answer) if node.kind == "unit"}
        return _ratios(_bare(gold), _bare(answer), policy) if len(halves) < 2 else None
    if gold.kind == "text" or answer.kind == "text":
        return "the same words" if gold == answer else None
    return scalar(gold, answer, policy)


def _named(gold: Node, answer: Node, policy: Policy) -> str | None:
    if "eq" in (gold.kind, answer.kind):
        return _unsolved(gold, answer)
    if gold.kind == "named" and answer.kind == "named":
        if not _compatible(gold, answer):
            return _unsolved(gold, answer)
        return _same(gold.args[0], answer.args[0], policy)
    if not policy.names or "assign" in (gold.kind, answer.kind):
        return None
    left = gold.args[0] if gold.kind == "named" else gold
    right = answer.args[0] if answer.kind == "named" else answer
    return _same(left, right, policy)


def _facts(gold: Node, answer: Node, policy: Policy) -> str | None:
    """An equality of numbers claims its right side; two such have to be true on both sides."""
    if gold.kind == answer.kind and not scalar(gold.args[0], answer.args[0], policy):
        return None
    left, right = (node.args[1] if node.kind == "fact" else node for node in (gold, answer))
    return _same(left, right, policy)


def _unsolved(gold: Node, answer: Node) -> str | None:
    """A named value beside an equation: the same only where the equation is one in two variables.

    `3x = 6` leaves `x = 2` to be solved, as the question did.
    """
    left, right = _as_equation(gold), _as_equation(answer)
    if len(symbols(left) - CONSTANTS) < 2:
        return None
    return _equations(left, right)


def _compatible(gold: Node, answer: Node) -> bool:
    """Whether the names allow the values to be compared: the same name, or `y` and `f(x)`."""
    if gold.name == answer.name or "text" in (gold.args[1].kind, answer.args[1].kind):
        return True
    left, right = gold.args[1], answer.args[1]
    if _is_constant_function(gold) and _is_constant_function(answer):
        return left.name == right.name != "()" or left.args[:1] == right.args[:1]
    plain = Node("sym", (), "y")
    return (left == plain and _is_applied(right)) or (right == plain and _is_applied(left))


def _is_constant_function(named: Node) -> bool:
    """`W(n) = 1`: a value of a function that does not depend on its variable."""
    value, name = named.args
    variables = name.args[1:] if name.name == "()" else name.args
    return (
        _is_applied(name)
        and all(part.kind == "sym" for part in variables)
        and not symbols(value) - CONSTANTS
    )


def _is_applied(node: Node) -> bool:
    """Whether a name is a function with its argument, such as `f(x)`."""
    return node.kind == "call" or node.name == "()"


def _as_equation(node: Node) -> Node:
    if node.kind != "named":
        return node
    if node.args[0].kind in _STRUCTURES or node.args[1].kind in _STRUCTURES:
        raise NotMathError("it is no equation between numbers")
    return Node("eq", (node.args[1], node.args[0]), "=")


def _equations(gold: Node, answer: Node) -> str | None:
    """Two equations are the same where one is a constant multiple of the other."""
    if gold.kind != "eq" or answer.kind != "eq" or gold.name != answer.name:
        return None
    if _proportional(minus(*gold.args), minus(*answer.args)) is not None:
        return "the same equation, up to a constant factor"
    if max(_quotients(node) for node in (gold, answer)) > MAX_CLEARED:
        return None
    cleared = [_cleared(minus(*node.args)) for node in (gold, answer)]
    if _proportional(cleared[0], cleared[1]) is not None:
        return "the same equation, denominators cleared"
    return None


def _quotients(node: Node) -> int:
    return (node.kind == "/") + sum(map(_quotients, node.args))


def _proportional(left: Node, right: Node) -> int | None:
    """The constant ratio of two formulas as a residue; None where it is no constant, or zero."""
    if symbols(left) != symbols(right):
        return None
    ratios: set[int] = set()
    for point in (1, 2):
        top, bottom = residue(left, point), residue(right, point)
        if top == 0 or bottom == 0:
            return None
        ratios.add(top * pow(bottom, -1, PRIME) % PRIME)
    return ratios.pop() if len(ratios) == 1 else None


def _cleared(node: Node) -> Node:
    """The numerator of a sum of quotients, by cross-multiplication."""
    top, bottom = _quotient(node)
    return top if bottom is not None else node


def _quotient(node: Node) -> tuple[Node, Node | None]:
    if node.kind == "neg":
        top, bottom = _quotient(node.args[0])
        return Node("neg", (top,)), bottom
    if node.kind == "/" and symbols(node.args[1]):
        return node.args[0], node.args[1]
    if node.kind != "+":
        return node, None
    top, bottom = _quotient(node.args[0])
    for term in node.args[1:]:
        other, under = _quotient(term)
        left = Node("*", (top, under)) if under is not None else top
        right = Node("*", (other, bottom)) if bottom is not None else other
        top = Node("+", (left, right))
        if under is not None:
            bottom = under if bottom is None else Node("*", (bottom, under))
    return top, bottom


def _orders(gold: Node, answer: Node, policy: Policy) -> str | None:
    if gold.kind != answer.kind or gold.name != answer.name or len(gold.args) != len(answer.args):
        return None
    if all(scalar(*pair, policy) for pair in zip(gold.args, answer.args, strict=True)):
        return "the same chain, side by side"
    if len(gold.args) != 2:
        return None
    left, right = minus(gold.args[1], gold.args[0]), minus(answer.args[1], answer.args[0])
    if _proportional(left, right) is None or not _is_positive_ratio(left, right):
        return None
    return "the same inequality, up to a positive factor"


def _is_positive_ratio(left: Node, right: Node) -> bool:
    mp = numeric.evaluator(30)
    ratio = numeric.value(left, mp, numeric.ANY) / numeric.value(right, mp, numeric.ANY)
    return bool(mp.im(ratio) == 0 and mp.re(ratio) > 0)


def _regions(gold: Node, answer: Node, policy: Policy) -> str | None:
    left, right = _as_region(gold), _as_region(answer)
    if left.name and right.name and left.name != right.name:
        return None
    if len(left.args) != len(right.args):
        return None
    for one, other in zip(left.args, right.args, strict=True):
        ends = zip(one.args, other.args, strict=True)
        if one.name != other.name or not all(scalar(*pair, policy) for pair in ends):
            return None
    return "the same set of numbers, end by end"


def _as_region(node: Node) -> Node:
    if node.kind == "eq" and node.name == "!=" and node.args[0].kind == "sym":
        whole = regions.region(regions.piece(regions.LEAST, regions.INFINITY, "()"))
        return regions.without(whole._replace(name=node.args[0].name), node.args[1])
    if node.kind == "list":
        parts = [_as_region(item) for item in node.args]
        if len({part.name for part in parts}) != 1:
            raise NotMathError("its conditions are on different variables")
        return regions.region(*(p for part in parts for p in part.args), name=parts[0].name)
    return regions.from_group(node)


def _assigned(gold: Node, answer: Node, policy: Policy) -> str | None:
    """`a = 1, b = 2`: by name where both have names, else in the order that is written."""
    if gold.kind == answer.kind:
        names = {part.name: part for part in answer.args}
        if names.keys() == {part.name for part in gold.args}:
            pairs = [(part, names[part.name]) for part in gold.args]
            if all(_same(one.args[0], other.args[0], policy) for one, other in pairs):
                return "the same values by name"
        return _values(gold, answer, policy) if _are_roots(gold) and _are_roots(answer) else None
    return _values(gold, answer, policy)


def _are_roots(node: Node) -> bool:
    """Whether the names are `x_1, x_2, …`, whose order is a matter of taste."""
    return all(part.kind != "named" or _ROOTS.match(part.name) for part in node.args)


def _values(gold: Node, answer: Node, policy: Policy) -> str | None:
    if not policy.names:
        return None
    kind = "{}" if _are_roots(gold) and _are_roots(answer) else "()"
    left, right = (
        node
        if node.kind != "assign"
        else Node("group", tuple(part.args[0] for part in node.args), kind)
        for node in (gold, answer)
    )
    if kind == "()" and {left.kind, right.kind} & {"list"} and len(left.args) == len(right.args):
        return _in_order(left.args, right.args, policy)
    return _collections(left, right, policy)


def _matrices(gold: Node, answer: Node, policy: Policy) -> str | None:
    left, right = _rows(gold), _rows(answer)
    if [len(row) for row in left] != [len(row) for row in right]:
        return None
    flat = [[cell for row in rows for cell in row] for rows in (left, right)]
    how = _in_order(flat[0], flat[1], policy)
    return f"cell by cell: {how}" if how else None


def _rows(node: Node) -> list[Sequence[Node]]:
    """The rows of a matrix; a tuple is a column."""
    if node.kind == "matrix":
        rows = [row.args for row in node.args]
        # a row and a column of the same numbers are both written for one vector
        return [[cell] for cell in rows[0]] if len(rows) == 1 else list(rows)
    if node.kind == "group" and node.name in ("()", "[]"):
        if all(part.kind == "group" for part in node.args):
            return [part.args for part in node.args]
        return [[part] for part in node.args]
    raise NotMathError("it is no matrix")


def _ratios(gold: Node, answer: Node, policy: Policy) -> str | None:
    """`3:4` meets `6:8` and `3/4`; of longer ratios every term counts."""
    left = gold.args if gold.kind == "ratio" else _terms(gold)
    right = answer.args if answer.kind == "ratio" else _terms(answer)
    if len(left) != len(right):
        return None
    if any(scalar(Node("num"), term, policy) for term in (*left, *right)):
        return _in_order(left, right, policy)
    for one, other in zip(left[1:], right[1:], strict=True):
        crossed = Node("*", (left[0], other)), Node("*", (right[0], one))
        if not scalar(*crossed, policy):
            return None
    return "the same ratio"


def _bare(node: Node) -> Node:
    return node.args[0] if node.kind == "unit" else node


def _terms(node: Node) -> tuple[Node, ...]:
    if node.kind != "/" and node.kind not in ("num", "*"):
        raise NotMathError("it is no ratio")
    return node.args if node.kind == "/" else (node, num(1))


def _elements(node: Node) -> tuple[Node, ...]:
    if node.kind not in ("group", "list"):
        return (node,)
    parts: list[Node] = []
    for part in node.args:
        spread = expanded(part)
        parts += spread.args if spread.kind == "list" else (part,)
    return tuple(parts)


def _opened(node: Node, other: Node) -> Node:
    """A set of one tuple beside what is no set is that tuple."""
    is_one = _is_set(node) and len(node.args) == 1 and not _is_set(other)
    return node.args[0] if is_one and node.args[0].kind == "group" else node


def _is_ordered(node: Node) -> bool:
    return node.kind == "group" and node.name != "{}"


def _collections(gold: Node, answer: Node, policy: Policy) -> str | None:
    if Node("group", (_EMPTY,), "{}") in (gold, answer) and gold != answer:
        return None  # a set of the empty set is not empty
    gold, answer = _opened(gold, answer), _opened(answer, gold)
    left, right = _elements(gold), _elements(answer)
    if gold.kind not in ("group", "list") and answer.kind == "list" and len(right) > 1:
        return _all_of(gold, right, policy)
    if max(len(left), len(right)) > _most(left) or not _brackets_fit(gold, answer, len(left)):
        return None
    if _is_ordered(gold) or _is_ordered(answer):
        return _in_order(left, right, policy)
    if _is_set(gold) or _is_set(answer) or all(part.kind == "group" for part in left):
        left, right = _distinct(left, policy), _distinct(right, policy)
    return _in_any_order(left, right, policy)


def _all_of(gold: Node, parts: Sequence[Node], policy: Policy) -> str | None:
    """`1/2 or 0.5` is one value, written twice."""
    hows = [_same(gold, part, policy) for part in parts[:MAX_MATCHED]]
    return f"each of them: {hows[0]}" if all(hows) and len(parts) == len(hows) else None


def _most(parts: Sequence[Node]) -> int:
    """How many elements are matched in any order: fewer where each comparison takes long."""
    return MAX_MATCHED if all(is_literal(part) for part in parts) else MAX_MATCHED // 4


def _is_set(node: Node) -> bool:
    return node.kind == "group" and node.name == "{}"


def _brackets_fit(gold: Node, answer: Node, count: int) -> bool:
    """A pair in square brackets may be an interval: it meets only what has the same brackets."""
    names = {node.name if _is_ordered(node) else "" for node in (gold, answer)}
    if len(names) == 1 or count > 2:
        return True
    return not any("[" in name or "]" in name for name in names) and count == 2


def _in_order(left: Sequence[Node], right: Sequence[Node], policy: Policy) -> str | None:
    if len(left) != len(right) or not left:
        return None
    hows = [_same(*pair, policy) for pair in zip(left, right, strict=True)]
    return f"in order: {hows[0]}" if all(hows) else None


def _distinct(parts: Sequence[Node], policy: Policy) -> list[Node]:
    found: list[Node] = []
    for part in parts:
        if not any(_same(other, part, policy) for other in found):
            found.append(part)
    return found


def _in_any_order(left: Sequence[Node], right: Sequence[Node], policy: Policy) -> str | None:
    if len(left) != len(right):
        return None
    if not left:
        return "both are empty"
    rest, how = list(right), ""
    for part in left:
        for i, other in enumerate(rest):
            found = _same(part, other, policy)
            if found is not None:
                how = found
                del rest[i]
                break
        else:
            return None
    return f"in any order: {how}"


def is_several(node: Node) -> bool:
    """Whether a claim offers more than one value."""
    return node.kind in ("list", "assign") or (node.kind == "group" and node.name == "{}")
