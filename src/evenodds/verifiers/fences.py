"""The fenced blocks of a text: what stands between two lines of three backquotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from evenodds.verifiers.extract import Mark, tagged

_FENCE = re.compile(r"^[ \t]{0,8}(`{3,10}|~{3,10})[ \t]{0,8}([\w+#.-]{0,20})[^\n`]{0,200}$", re.M)


def fences(text: str) -> list[tuple[str, Mark]]:
    """Every fenced block in order with its language in lower case; the last may lack its end."""
    found: list[tuple[str, Mark]] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        if opened is None:
            opened = line
        elif not line[2] and line[1].startswith(opened[1]):
            found.append(_block(text, opened, line.start(), line.end()))
            opened = None
    if opened is not None:
        found.append(_block(text, opened, len(text), len(text)))
    return found


def _block(text: str, opened: re.Match[str], end: int, after: int) -> tuple[str, Mark]:
    inside = text[opened.end() + 1 : end]
    return opened[2].lower(), Mark(inside, "fence", opened.start(), after, end < len(text))


def in_language(
    blocks: Sequence[tuple[str, Mark]], languages: Sequence[str], or_none: bool = True
) -> list[Mark]:
    """The blocks of one of the languages; without any, by `or_none` those that name none."""
    named = [mark for language, mark in blocks if language in languages]
    return named or [mark for language, mark in blocks if or_none and not language]


def program_of(text: str, languages: Sequence[str]) -> Mark:
    """The program that a text states: in the last answer tags, else in the whole text, the last
    fence of one of the languages, else the last fence of none, else all of it.

    languages: the first gives the fence its name. Where it stands is told within the tags.
    """
    scope = tagged(text) or Mark(text, "the whole text", 0, len(text), is_closed=False)
    found = in_language(fences(scope.text), languages)
    return replace(found[-1], how=f"{languages[0]} fence") if found else scope
