"""Checks of the form of a completion, which a composite reward may pay a small share for.

A form counts only where the prompt asks for it: a model cannot learn what it is not told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from evenodds.domain import Completion, Problem, as_text
from evenodds.verifiers.extract import boxes, tags
from evenodds.verifiers.reasoning import final_part, opened_by

Format = Literal["think", "answer tags", "box"]

_THINK = re.compile(r"<(/?)think\s{0,4}>", re.IGNORECASE)


class Form(NamedTuple):
    """A form: the words of a prompt that ask for it, and what is wrong with a completion."""

    asked_by: tuple[str, ...]
    fault: Callable[[Completion], str | None]


def think_fault(completion: Completion) -> str | None:
    """Why the reasoning is not one closed block in front of an answer; None where it is.

    The block opens at the start of the text, or at the end of the prompt, and is closed once; both
    it and what follows hold something.
    """
    found = _THINK.findall(completion.text)
    is_opened = opened_by(completion.prompt_tail) == "think"
    if found != (["/"] if is_opened else ["", "/"]):
        return "the think tags are not opened and closed once"
    opening = None if is_opened else _THINK.search(completion.text)
    if opening and completion.text[: opening.start()].strip():
        return "text stands before the reasoning"
    start = opening.end() if opening else 0
    thought, _, answer = completion.text[start:].lower().rpartition("</think")
    if not thought.strip():
        return "the reasoning is empty"
    return None if answer.lstrip().removeprefix(">").strip() else "nothing follows the reasoning"


def answer_tags_fault(completion: Completion) -> str | None:
    """Why the answer is not in one closed pair of answer tags at the end; None where it is."""
    text = final_part(completion.text, completion.prompt_tail)
    found = tags(text) if text else []
    if text is None or len(found) != 1 or not found[0].is_closed:
        return "there is not exactly one closed pair of answer tags"
    if not found[0].text.strip():
        return "the answer tags are empty"
    return "text stands behind the answer tags" if text[found[0].end :].strip() else None


def box_fault(completion: Completion) -> str | None:
    """Why the answer is not in one closed box; None where it is. The same box may stand twice."""
    text = final_part(completion.text, completion.prompt_tail)
    found = boxes(text) if text else []
    if not found or not all(mark.is_closed and mark.text.strip() for mark in found):
        return "there is no box, or one that is empty or not closed"
    return None if len({mark.text.strip() for mark in found}) == 1 else "there are several boxes"


FORMATS: dict[Format, Form] = {
    "think": Form(("<think>",), think_fault),
    "answer tags": Form(("<answer>",), answer_tags_fault),
    "box": Form(("\\boxed", "\\fbox"), box_fault),
}


def is_asked(name: Format, problem: Problem, completion: Completion) -> bool:
    """Whether the prompt asks for the form by its marks; an opened `<think>` asks for its end."""
    asked = as_text(problem.prompt)
    if name == "think" and opened_by(completion.prompt_tail) == "think":
        return True
    return any(words in asked for words in FORMATS[name].asked_by)
