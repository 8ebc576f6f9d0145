"""What a text of mathematics is read into: small frozen trees, bounded in depth and size."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

ZERO = Fraction(0)

MAX_CHARACTERS = 1_500
MAX_TOKENS = 600
MAX_DEPTH = 40


class NotMathError(Exception):
    """Raised while reading or comparing; it never leaves this package."""


class Node(NamedTuple):
    """One node of a tree.

    kind: for expressions `num` (number; its name is `decimal` where it was written so), `sym`
    (name), `+`, `*`, `/`, `^`, `neg`, `pm`, `!`, `abs`, `call` (name), `binom`, `inf`, `percent`,
    `deg`, `base` (digits in args 0, base in args 1), `unit` (its words as name); for structures
    `group` (name: the two brackets), `list` (name: how its parts are joined), `rel` (name: the
    relation signs, parted by a space), `ratio`, `union`, `inter`, `minus`, `builder`, `matrix`
    of `row`s, `text` (name).
    """

    kind: str
    args: tuple[Node, ...] = ()
    name: str = ""
    number: Fraction = ZERO


def num(value: int | Fraction, is_decimal: bool = False) -> Node:
    return Node("num", (), "decimal" if is_decimal else "", Fraction(value))


def sym(name: str) -> Node:
    return Node("sym", (), name)


def call(name: str, *args: Node) -> Node:
    return Node("call", args, name)


def minus(left: Node, right: Node) -> Node:
    return Node("+", (left, Node("neg", (right,))))


def _nodes(node: Node) -> list[Node]:
    """All nodes of a tree."""
    found = [node]
    for each in found:
        found.extend(each.args)
    return found


def symbols(node: Node) -> frozenset[str]:
    """The names of the variables in a tree."""
    return frozenset(found.name for found in _nodes(node) if found.kind == "sym")


def kinds(node: Node) -> frozenset[str]:
    """The kinds of all nodes in a tree."""
    return frozenset(found.kind for found in _nodes(node))


def is_decimal(node: Node) -> bool:
    """Whether it is one number written with a decimal point, a power of ten behind it or not."""
    if node.kind == "neg":
        return is_decimal(node.args[0])
    if node.kind == "*" and node.args[1].kind == "^" and node.args[1].args[0] == num(10):
        return is_decimal(node.args[0])
    return node.kind == "num" and node.name == "decimal"


def is_literal(node: Node) -> bool:
    """Whether it is one written number, with or without a sign."""
    return node.kind == "num" or (node.kind == "neg" and node.args[0].kind == "num")


def is_whole_sum(node: Node) -> bool:
    """Whether it is a sum or product of whole numbers, written without a decimal point."""
    if node.kind == "num":
        return node.number.denominator == 1 and not node.name
    return node.kind in ("+", "*", "neg") and all(map(is_whole_sum, node.args))
