"""The words of a query outside of its strings and comments; one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)|'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)"
    r"|(?P<word>[^\W\d]\w*|[();])",
    re.DOTALL,
)


def words(query: str) -> Iterator[str]:
    """Words, parentheses and semicolons in order, in upper case."""
    return (found[0].upper() for found in _TOKEN.finditer(query) if found["word"])


def is_ordered(query: str) -> bool:
    """Whether a query has ORDER BY at its top level, so that the order of its rows is meant."""
    depth, before = 0, ""
    for word in words(query):
        if depth == 0 and before == "ORDER" and word == "BY":
            return True
        depth += (word == "(") - (word == ")")
        before = word
    return False


def objection(query: str) -> str | None:
    """Why a text is no single query that only reads; None where it may be one."""
    found = [*words(query)]
    if not found or found[0] not in ("SELECT", "WITH", "VALUES"):
        return "it is no query: it begins with none of SELECT, WITH and VALUES"
    rest = found[found.index(";") :] if ";" in found else []
    if any(word != ";" for word in rest):
        return "it is more than one statement"
    return None
