"""The `regex` verifier: the final answer fits the pattern that the gold gives."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from annotated_types import Gt

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.verifiers import reasoning
from evenodds.verifiers.context import objection
from evenodds.verifiers.extract import Mark
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.objection import Objection
from evenodds.verifiers.text import unwrapped
from evenodds.verifiers.verdicts import (
    Place,
    final_answer,
    gold_unreadable,
    paid,
    spellings,
    unpaid,
)

MAX_PATTERN = 10_000
MAX_CHARACTERS = 10_000
"""A longer answer is not matched: the time of a pattern may grow with a power of its length."""


@dataclass(frozen=True)
class Policy:
    """How an answer is found and matched.

    order: where the final answer may stand.
    mode: `fullmatch`, the whole answer fits; `search`, a part of its last sentence does, which is
    paid unless the words around it deny it or join another one to it.
    ignore_case: letters fit in either case. dotall: `.` fits a line break.
    longest: in `search`, a longer answer is not paid, for a long text holds many a match.
    """

    order: tuple[Place, ...] = ("box", "answer tags", "####", "last line")
    mode: Literal["fullmatch", "search"] = "fullmatch"
    ignore_case: bool = False
    dotall: bool = False
    longest: Annotated[int, Gt(0)] = 500


DEFAULT = Policy()


def regex(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Right where the final answer fits the gold's pattern. Never raises.

    It may run for ever, for Python's engine backtracks: a judge calls it in a worker that can be
    killed. A pattern that does not compile makes the gold unreadable, and so does one that fits
    the empty text in `search`, which everything would meet.
    """
    pattern = _compiled(problem.answer, policy.ignore_case, policy.dotall)
    if isinstance(pattern, str):
        return gold_unreadable(pattern)
    if policy.mode == "search" and pattern.search(""):
        return gold_unreadable("the pattern fits the empty text, so every answer would meet it")
    answer = final_answer(completion, policy.order)
    if isinstance(answer, Verdict):
        return answer
    longest = policy.longest if policy.mode == "search" else MAX_CHARACTERS
    if len(answer.text) > min(longest, MAX_CHARACTERS):
        note = f"{answer.how}; an answer of {len(answer.text)} characters is not matched"
        return unpaid(completion, Status.WRONG, note, answer.text)
    if policy.mode == "search":
        return _searched(completion, answer, pattern)
    if any(pattern.fullmatch(text) for text in spellings(answer)):
        return paid(completion, answer.text, f"{answer.how}; it fits the pattern")
    note = f"{answer.how}; it does not fit the pattern"
    return unpaid(completion, Status.WRONG, note, answer.text)


def _searched(completion: Completion, answer: Mark, pattern: re.Pattern[str]) -> Verdict:
    """The last match in the last sentence of the answer, where nothing around it objects."""
    text = _SENTENCE_END.split(unwrapped(answer.text).rstrip())[-1]
    found = list(pattern.finditer(text))
    if not found:
        note = f"{answer.how}; nothing in it fits the pattern"
        return unpaid(completion, Status.WRONG, note, answer.text)
    last = found[-1]
    against = _against(text, last)
    if against is not None:
        return unpaid(completion, against.status, f"{answer.how}; {against.note}", last[0])
    return paid(completion, last[0], f"{answer.how}; a part of it fits the pattern")


_SENTENCE_END = re.compile(r"[.!?;。]\s{1,3}(?=\S)|\n")
_OR = re.compile(r"[\s,.)\]\"'*]{0,4}(?:\b(?:or|oder|ou)\b|[/|]|或)", re.IGNORECASE)
_OR_BEFORE = re.compile(
    r"(?:\b(?:or|oder|ou)\s{1,2}(?:maybe\s|perhaps\s|possibly\s|the\s|a\s|an\s){0,3}|[/|]\s?|或)\Z",
    re.IGNORECASE,
)


def _against(text: str, match: re.Match[str]) -> Objection | None:
    before = _OR_BEFORE.search(text, max(0, match.start() - 40), match.start())
    if before or _OR.match(text, match.end()):
        return Objection("another answer is offered with it", is_several=True)
    return objection(text, Mark(match[0], "a match", match.start(), match.end()))


@lru_cache(maxsize=1024)
def _compiled(pattern: str, ignore_case: bool, dotall: bool) -> re.Pattern[str] | str:
    if not pattern or len(pattern) > MAX_PATTERN:
        return "the pattern is empty" if not pattern else f"the pattern has {len(pattern)} signs"
    flags = (re.IGNORECASE if ignore_case else 0) | (re.DOTALL if dotall else 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of forms that a later Python may read otherwise
            return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        return f"the pattern does not compile: {error}"


KIND = Kind(
    name="regex",
    summary="the final answer fits a pattern, as a whole or by policy in a part",
    gold="a pattern of Python's `re`",
    judge=regex,
    policy=DEFAULT,
    gold_is="rule",
    runs="worker",
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "characters_matched": MAX_CHARACTERS,
        "characters_of_a_pattern": MAX_PATTERN,
    },
)
