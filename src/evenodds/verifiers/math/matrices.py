"""Sums, products and multiples of matrices, worked out cell by cell."""

from __future__ import annotations

from collections.abc import Callable

from evenodds.verifiers.math.tree import Node, NotMathError, kinds

MAX_PRODUCT = 600
Rows = tuple[Node, ...]


def worked(node: Node) -> Node:
    """The matrix that an expression of matrices is; other trees stay as they are."""
    if "matrix" not in kinds(node) or node.kind in ("matrix", "rel", "list", "group"):
        return node
    if node.kind == "neg":
        return _each(worked(node.args[0]), lambda cell: Node("neg", (cell,)))
    parts = [worked(arg) for arg in node.args]
    if node.kind == "+":
        total = parts[0]
        for part in parts[1:]:
            total = _sum(total, part)
        return total
    if node.kind == "*":
        return _product(parts[0], parts[1])
    if node.kind == "/" and parts[0].kind == "matrix":
        return _each(parts[0], lambda cell: Node("/", (cell, parts[1])))
    raise NotMathError("its matrices are not worked out")


def _each(matrix: Node, change: Callable[[Node], Node]) -> Node:
    if matrix.kind != "matrix":
        raise NotMathError("it is no matrix")
    rows = [Node("row", tuple(change(cell) for cell in row.args)) for row in matrix.args]
    return Node("matrix", tuple(rows))


def _sum(left: Node, right: Node) -> Node:
    if left.kind != "matrix" or right.kind != "matrix" or _shape(left) != _shape(right):
        raise NotMathError("the shapes of its matrices differ")
    rows = [
        Node("row", tuple(Node("+", pair) for pair in zip(one.args, other.args, strict=True)))
        for one, other in zip(left.args, right.args, strict=True)
    ]
    return Node("matrix", tuple(rows))


def _shape(matrix: Node) -> tuple[int, int]:
    return len(matrix.args), len(matrix.args[0].args)


def _product(left: Node, right: Node) -> Node:
    if left.kind != "matrix":
        return _each(right, lambda cell: Node("*", (left, cell)))
    if right.kind != "matrix":
        return _each(left, lambda cell: Node("*", (cell, right)))
    (height, inner), (depth, width) = _shape(left), _shape(right)
    if inner != depth or height * inner * width > MAX_PRODUCT:
        raise NotMathError("the shapes of its matrices do not fit")
    columns = list(zip(*(row.args for row in right.args), strict=True))
    rows = [Node("row", tuple(_dot(row.args, column) for column in columns)) for row in left.args]
    return Node("matrix", tuple(rows))


def _dot(row: Rows, column: Rows) -> Node:
    return Node("+", tuple(Node("*", pair) for pair in zip(row, column, strict=True)))
