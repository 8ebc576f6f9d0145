"""Regular expressions of a stranger: those whose search may take for ever."""

from __future__ import annotations

import re

OPEN = re.compile(r"[*+]|\{\d*,\d*\}|\{\d{3,}\}")
TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(|\)|[*+]|\{\d*,\d*\}|\{\d+\}|.", re.DOTALL)


def repeats_a_repetition(pattern: str) -> bool:
    """Whether a group that repeats without end holds something that does: `(a+)+`.

    Such a search takes a time that doubles with every character.
    """
    holds = [False]  # of each open group: whether something inside repeats without end
    closed = False  # whether the last token closed a group that does
    for token in TOKEN.findall(pattern):
        endless = OPEN.fullmatch(token) is not None
        if endless and closed:
            return True
        if endless:
            holds[-1] = True
        if token == "(":
            holds.append(False)
        closed = token == ")" and len(holds) > 1 and holds.pop()
        if closed:
            holds[-1] = True
    return False


def repetitions(pattern: str) -> int:
    """How many parts of a pattern repeat without end."""
    return sum(OPEN.fullmatch(token) is not None for token in TOKEN.findall(pattern))
