"""The fenced blocks of a text: what stands between two lines of three backquotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from evenodds.verifiers.extract import Mark, tagged

_FENCE = re.compile(r"^([ \t]{0,8})(`{3,10}|~{3,10})[ \t]{0,8}([\w+#.-]{0,20})[^\n`]{0,200}$", re.M)


def fences(text: str) -> list[tuple[str, Mark]]:
    """Every fenced block in order with its language in lower case; the last may lack its end.

    A line that is indented four columns more than the one that opened the block does not end it, so
    that marks in a docstring are part of a program; but where no other line does, it does.
    """
    lines = list(_FENCE.finditer(text)) if "```" in text or "~~~" in text else []
    found: list[tuple[str, Mark]] = []
    at, is_strict = 0, True
    while at < len(lines):
        opened = lines[at]
        rest = range(at + 1, len(lines))
        close = next((n for n in rest if _closes(lines[n], opened, is_strict)), None)
        if close is None and is_strict:
            is_strict = False  # for the rest too: each line is looked at a bounded number of times
        elif close is None:
            found.append(_block(text, opened, len(text), len(text)))
            break
        else:
            found.append(_block(text, opened, lines[close].start(), lines[close].end()))
            at = close + 1
    return found


def _closes(line: re.Match[str], opened: re.Match[str], is_strict: bool) -> bool:
    if line[3] or not line[2].startswith(opened[2]):
        return False
    return not is_strict or len(line[1].expandtabs(4)) < len(opened[1].expandtabs(4)) + 4


def _block(text: str, opened: re.Match[str], end: int, after: int) -> tuple[str, Mark]:
    inside = text[opened.end() + 1 : end]
    if opened[1]:  # a block in a list is indented as a whole
        inside = re.sub(rf"^[ \t]{{1,{len(opened[1])}}}", "", inside, flags=re.MULTILINE)
    return opened[3].lower(), Mark(inside, "fence", opened.start(), after, end < len(text))


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
