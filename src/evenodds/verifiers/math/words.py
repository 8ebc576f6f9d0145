"""Golds that are words, and golds that say nothing."""

from __future__ import annotations

import re

from evenodds.verifiers.math.clean import key
from evenodds.verifiers.math.lexer import is_product
from evenodds.verifiers.math.tree import Node

_PLACEHOLDER = re.compile(
    r"(?:see|refer to|as shown|given)\b.{0,30}\b(?:figure|diagram|graph|solution|above|below|proof"
    r"|table|explanation)|\A\W{0,3}(?:n/?a|nan|null|figure|graph|proof|image|todo|unknown"
    r"|no answer|answer omitted)\W{0,3}\Z",
    re.IGNORECASE,
)


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_EMPTY = _set(
    "nosolution nosolutions norealsolution norealsolutions nosuchnumber thereisnosolution"
    " therearenosolutions emptyset theemptyset \\emptyset \\varnothing \\{\\} nosolutionexists"
    " nosolutionsexist norealroots"
)
_REALS = _set(
    "allrealnumbers allreals \\mathbb{R} realnumbers allrealnumber anyrealnumber \\R allrealvalues"
)
_MISSING = _set("dne doesnotexist doesntexist limitdoesnotexist thelimitdoesnotexist")


def is_placeholder(gold: str) -> bool:
    """Whether a gold only points elsewhere, such as `(see figure)`."""
    return _PLACEHOLDER.search(gold[:200]) is not None


def text_key(cleaned: str) -> str:
    """A cleaned text for comparing words: without spaces, wrappers and, for words, capitals."""
    found = key(cleaned)
    plain = found.replace("{", "").replace("}", "")
    letters = plain.replace("-", "").replace("'", "")
    if letters.isalpha() and len(letters) > 1 and not is_product(letters):
        return plain.lower()
    return found


def synonym(found: str) -> Node | None:
    """The set that a key such as that of `no solution` or `all real numbers` stands for."""
    if not found[:1].isalpha() and found[:1] != "\\":
        return None
    lowered = found.lower().replace("{", "").replace("}", "").replace("'", "")
    if lowered in _EMPTY or found in _EMPTY:
        return Node("sym", (), "empty")
    if lowered in _REALS or found in _REALS:
        return Node("sym", (), "reals")
    if lowered in _MISSING:
        return Node("text", (), "does not exist")
    return None
