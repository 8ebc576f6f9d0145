"""Cases of the kind `regex`."""

from __future__ import annotations

from collections.abc import Iterator

from evenodds.bench.case import Case, Subject, asked, made
from evenodds.bench.frames import framed, right_forms, wrong_values
from evenodds.bench.hostile import hangs, hostile_sizes

FORMS = (
    "bare",
    "new line",
    "box",
    "tags",
    "tags after work",
    "hashes",
    "hashes after work",
    "tags after reasoning",
    "bare after reasoning",
    "last line",
)
PATTERN = "[A-Z]{3}-[0-9]{4}"
WRONG = ("ABC-123", "abc-1234", "ABC-12345", "AB-1234", "ABC 1234", "ABC-1234x", PATTERN)


def own_cases() -> Iterator[Case]:
    """The bench of the kind by itself, in its default mode in which the whole answer must fit."""
    problem = asked("regex", 0, "Write a licence plate.", PATTERN)
    subject = Subject(problem, ("QRS-5678", "ABC-1234", "ZZZ-0000"), WRONG)
    yield from right_forms("regex", subject, FORMS)
    yield from wrong_values("regex", subject)
    yield from framed("regex", subject)
    yield from hangs("regex", problem)
    yield from hostile_sizes("regex", problem, "ABC-123")
    slow = asked("regex", 1, "Write some.", "(a+)+b")
    yield made("regex", "right forms", slow, "aaab", True, "a pattern that can backtrack")
    yield made("regex", "hang", slow, "a" * 40, False, "backtracking without end")
