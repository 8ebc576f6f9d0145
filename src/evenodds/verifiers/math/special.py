"""Commands with arguments of their own: fractions, roots, functions, sums, matrices."""

from __future__ import annotations

from fractions import Fraction

from evenodds.verifiers.math.parser import (
    Cursor,
    argument,
    bracket,
    expression,
    factor,
    starts_argument,
    subscript,
)
from evenodds.verifiers.math.tree import Node, NotMathError, call, num, sym

_SETS = {"R": "reals", "N": "naturals", "Z": "integers", "Q": "rationals", "C": "complexes"}
_MATRICES = frozenset(["pmatrix", "bmatrix", "Bmatrix", "matrix", "smallmatrix", "array", "cases"])
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot"}
_ALIASES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
HALF = num(Fraction(1, 2))
MAX_CELLS = 100


def special(cursor: Cursor, text: str) -> Node:
    """The node of a command whose arguments follow."""
    if text in ("frac", "binom"):
        top, bottom = argument(cursor), argument(cursor)
        return Node("/" if text == "frac" else "binom", (top, bottom))
    if text == "sqrt":
        return _root(cursor)
    if text == "begin":
        return _matrix(cursor)
    if text == "mathbb":
        return _number_set(cursor)
    if text in ("sum", "prod"):
        return _sum(cursor, text)
    if text in ("lfloor", "lceil"):
        inside = expression(cursor)
        if cursor.take().text != "r" + text[1:]:
            raise NotMathError("a rounding bracket does not end")
        return call("floor" if text == "lfloor" else "ceil", inside)
    if text == "overline":
        return call("overline", argument(cursor))
    raise NotMathError(f"{text} is not read here")


def _root(cursor: Cursor) -> Node:
    degree = num(2)
    if cursor.peek().text == "[":
        cursor.take()
        degree = bracket(cursor, "[")
    inside = _root_argument(cursor)
    power = HALF if degree == num(2) else Node("/", (num(1), degree))
    return Node("^", (inside, power))


def _root_argument(cursor: Cursor) -> Node:
    if cursor.peek().kind == "number":
        token = cursor.take()
        return num(Fraction(token.text)) if len(token.text) < 40 else argument(cursor)
    return argument(cursor)


def _number_set(cursor: Cursor) -> Node:
    cursor.need("{")
    name = cursor.take().text
    cursor.need("}")
    if name not in _SETS:
        raise NotMathError("its set of numbers has no name here")
    suffix = "^" + subscript(cursor) if cursor.takes("^") else ""
    suffix += "_" + subscript(cursor) if cursor.takes("_") else ""
    return sym(_SETS[name] + suffix)


def _sum(cursor: Cursor, text: str) -> Node:
    """`\\sum_{k=0}^{n} term` as a call of its bounds and its term; it is compared, never summed."""
    cursor.need("_")
    cursor.need("{")
    variable = cursor.take()
    if variable.kind != "name" or cursor.take().text != "=":
        raise NotMathError("the bounds of a sum are not read")
    lower = expression(cursor)
    cursor.need("}")
    cursor.need("^")
    upper = argument(cursor)
    term = factor(cursor)
    while starts_argument(cursor) or cursor.peek().text in ("(", "binom"):
        term = Node("*", (term, factor(cursor)))
    return call(text, sym(variable.text), lower, upper, term)


def function(cursor: Cursor, name: str) -> Node:
    """A named function with its argument, its power (`\\sin^2 x`) and its base (`\\log_2 x`)."""
    name = _ALIASES.get(name, name)
    power: Node | None = None
    base: Node | None = None
    while cursor.peek().text in ("^", "_") and cursor.peek().kind == "sign":
        if cursor.take().text == "^":
            power = _power(cursor)
        else:
            base = argument(cursor)
    if power == Node("neg", (num(1),)) and name in _INVERSE:
        name, power = _INVERSE[name], None
    inside = _function_argument(cursor)
    node = _called(name, inside, base)
    return Node("^", (node, power)) if power is not None else node


def _power(cursor: Cursor) -> Node:
    if cursor.peek().text == "{":
        return argument(cursor)
    token = cursor.take()
    if token.kind != "number":
        raise NotMathError("the power of a function is not read")
    return num(int(token.text[:1])) if len(token.text) == 1 else num(Fraction(token.text))


def _called(name: str, inside: tuple[Node, ...], base: Node | None) -> Node:
    if name == "exp" and len(inside) == 1:
        return Node("^", (sym("e"), inside[0]))
    if name == "cis" and len(inside) == 1:
        return Node("^", (sym("e"), Node("*", (sym("i"), inside[0]))))
    if name == "abs" and len(inside) == 1:
        return Node("abs", inside)
    if base is not None and name == "log" and len(inside) == 1:
        return Node("/", (call("ln", *inside), call("ln", base)))
    if name == "lg":
        return Node("/", (call("ln", *inside), call("ln", num(10))))
    if base is not None:
        raise NotMathError("a function has a base that is not read")
    return call(name, *inside)


def _function_argument(cursor: Cursor) -> tuple[Node, ...]:
    token = cursor.peek()
    if token.text in ("(", "[", "{") and token.kind == "sign":
        cursor.take()
        inside = bracket(cursor, token.text)
        return inside.args if inside.kind == "group" else (inside,)
    if cursor.takes("-"):
        return (Node("neg", (factor(cursor),)),)
    product = factor(cursor)
    while starts_argument(cursor):
        product = Node("*", (product, factor(cursor)))
    return (product,)


def _environment(cursor: Cursor) -> str:
    cursor.need("{")
    parts: list[str] = []
    while not cursor.takes("}"):
        token = cursor.take()
        if token.kind == "end":
            raise NotMathError("an environment has no name")
        parts.append(token.text)
    return "".join(parts).rstrip("*")


def _matrix(cursor: Cursor) -> Node:
    name = _environment(cursor)
    if name not in _MATRICES or name == "cases":
        raise NotMathError(f"the environment {name} is not read")
    if name == "array" and cursor.peek().text == "{":
        _environment(cursor)
    rows: list[Node] = []
    cells: list[Node] = []
    is_parted = True
    while True:
        token = cursor.peek()
        if token.kind == "special" and token.text == "finish":
            break
        if token.kind in ("cell", "line"):
            cursor.take()
        if token.kind == "line":
            rows, cells = _row(rows, cells), []
        elif token.kind != "cell":
            if not is_parted:
                raise NotMathError("two cells of its matrix are not parted")
            cells.append(expression(cursor))
        is_parted = token.kind in ("cell", "line")
        if len(cells) + len(rows) > MAX_CELLS:
            raise NotMathError("its matrix is too large")
    cursor.take()
    if _environment(cursor) != name:
        raise NotMathError("an environment ends under another name")
    return _checked(_row(rows, cells))


def _row(rows: list[Node], cells: list[Node]) -> list[Node]:
    return [*rows, Node("row", tuple(cells))] if cells else rows


def _checked(rows: list[Node]) -> Node:
    if not rows or len({len(row.args) for row in rows}) != 1:
        raise NotMathError("the rows of its matrix differ in length")
    return Node("matrix", tuple(rows))
