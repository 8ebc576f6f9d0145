"""The final answer of a completion as a span of text, and the verdicts that kinds give on it.

What the kinds for text, choices, patterns, JSON and expressions share: each looks for the final
answer at the places that its policy lists, in that order, and takes the last one there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from evenodds.domain import Completion, Status, Stop, Verdict
from evenodds.verifiers.context import objection
from evenodds.verifiers.extract import LONGEST_BOX, Mark, boxes, hashes, joined, tags
from evenodds.verifiers.objection import Objection, reordered
from evenodds.verifiers.reasoning import final_part

Place = Literal["box", "answer tags", "####", "answer line", "last line", "whole text"]
"""Where a final answer may stand. The first four are marks that say that it is one."""

CUT = "cut before the answer was complete"
"""The note of an answer that the budget cut."""
MAX_EXTRACTED, MAX_NOTE = 200, 400
"""Characters of a verdict's texts; an answer may be a megabyte."""

_ANSWER_LINE = re.compile(
    r"(?:^[ \t*#>_]{0,8}(?:final |correct )?(?:answer|solution|答案)[*_ ]{0,4}(?:is\b|[:=：是])"
    r"|\b(?:the|my|our) (?:final |correct )?answer[*_ ]{0,4}(?:is\b|[:=]))[*_ :]{0,6}",
    re.IGNORECASE | re.MULTILINE,
)
_EMPHASIS = "*_` "
_TAKEN_BACK = re.compile(
    r"\b(?:wait|scratch that|i was wrong|on second thought|correction|i made a mistake"
    r"|that is wrong|that's wrong|ignore that)\b",
    re.IGNORECASE,
)


def paid(
    completion: Completion,
    extracted: str,
    note: str,
    score: float = 1.0,
    parts: Mapping[str, float] | None = None,
) -> Verdict:
    """The verdict on a right answer: status right, or truncated where the budget cut behind it."""
    return _verdict(completion, Status.RIGHT, note, extracted, score, parts)


def unpaid(
    completion: Completion,
    status: Status,
    note: str,
    extracted: str | None = None,
    score: float = 0.0,
    parts: Mapping[str, float] | None = None,
) -> Verdict:
    """The verdict on an answer that is not right; truncated wherever the budget cut the text."""
    return _verdict(completion, status, note, extracted, score, parts)


def _verdict(
    completion: Completion,
    status: Status,
    note: str,
    extracted: str | None,
    score: float,
    parts: Mapping[str, float] | None,
) -> Verdict:
    status = Status.TRUNCATED if completion.stop is Stop.BUDGET else status
    text = None if extracted is None else extracted[:MAX_EXTRACTED]
    return Verdict(score, status, text, note[:MAX_NOTE], parts or {})


def gold_unreadable(note: str) -> Verdict:
    """The verdict where it is the gold, not the answer, that cannot be used."""
    return Verdict(0.0, Status.GOLD_UNREADABLE, note=f"the gold: {note}"[:MAX_NOTE])


def final_text(completion: Completion) -> str | Verdict:
    """What follows the reasoning, or the verdict where the reasoning was never closed."""
    text = final_part(completion.text, completion.prompt_tail)
    if text is None:
        return unpaid(completion, Status.NO_ANSWER, "the reasoning was never closed")
    return text


def final_answer(completion: Completion, order: Sequence[Place]) -> Mark | Verdict:
    """The final answer at the first place of `order` that is there, its text stripped.

    Or the verdict where there is none: nothing stands there, the budget cut it, several different
    ones stand side by side, or the words around it deny it or take it back.
    """
    text = final_text(completion)
    if isinstance(text, Verdict):
        return text
    marks = find(text, order)
    if not marks:
        return unpaid(completion, Status.NO_ANSWER, "no answer was found")
    last = marks[-1]
    if completion.stop is Stop.BUDGET and not last.is_closed:
        return unpaid(completion, Status.TRUNCATED, CUT)
    return standing(completion, text, marks)


def find(text: str, order: Sequence[Place]) -> list[Mark]:
    """All marks of the first place of `order` that has any."""
    for place in order:
        marks = PLACES[place](text)
        if marks:
            return marks
    return []


def standing(completion: Completion, text: str, marks: Sequence[Mark]) -> Mark | Verdict:
    """The last of the marks, or the verdict where it is not whole, not alone, or does not stand."""
    last = marks[-1]
    answer = last.text.strip()
    if last.how == "box" and (not last.is_closed or len(last.text) >= LONGEST_BOX):
        return unpaid(completion, Status.NO_ANSWER, "the last box is not closed, or is too long")
    if not answer:
        return unpaid(completion, Status.NO_ANSWER, f"{last.how}; it is empty")
    if len({mark.text.strip() for mark in joined(text, marks)}) > 1:
        note = f"{last.how}; different answers side by side"
        return unpaid(completion, Status.SEVERAL_ANSWERS, note, answer)
    against = _against(text, last)
    if against is not None:
        return unpaid(completion, against.status, f"{last.how}; {against.note}", answer)
    return Mark(answer, last.how, last.start, last.end, last.is_closed)


def _against(text: str, mark: Mark) -> Objection | None:
    turned = reordered(mark.text)
    if turned is not None:
        return turned
    if mark.how in ("last line", "whole text"):
        return None
    # words behind a long answer explain it: numbers among them are no second answer
    is_block = mark.how in ("fence", "last object")
    against = objection(text[: mark.end].replace("#", " ") if is_block else text, mark)
    return against or taken_back(text, mark)


def taken_back(text: str, mark: Mark) -> Objection | None:
    """The objection to an answer that is a word, behind which the text changes its mind."""
    found = _TAKEN_BACK.search(text, mark.end, mark.end + 2_000)
    return Objection("the answer is taken back by what follows") if found else None


def answer_lines(text: str) -> list[Mark]:
    """What follows `Answer:` at the start of a line, or `the final answer is`, to its end."""
    starts = list(_ANSWER_LINE.finditer(text))
    limits = [*(match.start() for match in starts), len(text)]
    return [_line(text, match, limit) for match, limit in zip(starts, limits[1:], strict=True)]


def _line(text: str, match: re.Match[str], limit: int) -> Mark:
    line = text.find("\n", match.end(), limit)
    end = limit if line < 0 else line
    return Mark(text[match.end() : end], "answer line", match.start(), end, end < len(text))


def spellings(mark: Mark) -> tuple[str, ...]:
    """The answer as it stands; of an answer line also without emphasis and its full stop."""
    if mark.how != "answer line":
        return (mark.text,)
    plain = mark.text.strip(_EMPHASIS)
    return (mark.text, plain, plain.removesuffix(".").strip(_EMPHASIS))


def last_line(text: str) -> list[Mark]:
    """The last line that is not empty; never closed, for the next could have been another."""
    whole = text.rstrip()
    if not whole:
        return []
    start = whole.rfind("\n") + 1
    return [Mark(whole[start:].strip(), "last line", start, len(text), is_closed=False)]


def whole_text(text: str) -> list[Mark]:
    """All of the text, where there is any."""
    whole = text.strip()
    return [Mark(whole, "whole text", 0, len(text), is_closed=False)] if whole else []


PLACES: dict[Place, Callable[[str], list[Mark]]] = {
    "box": boxes,
    "answer tags": tags,
    "####": hashes,
    "answer line": answer_lines,
    "last line": last_line,
    "whole text": whole_text,
}


__all__ = [
    "PLACES",
    "Place",
    "final_answer",
    "final_text",
    "find",
    "gold_unreadable",
    "paid",
    "spellings",
    "standing",
    "taken_back",
    "unpaid",
]
