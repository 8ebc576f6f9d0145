"""Wrong answers that are made from a right one: what a verifier must not pay."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, cast

from evenodds.domain import Problem
from evenodds.tasks.countdown import find_expression
from evenodds.verifiers import KINDS
from evenodds.verifiers.expression import read_gold

_NUMBER = re.compile(r"[0-9]{1,300}")


def right_answer(kind: str, gold: str) -> str | None:
    """A completion that is right by a gold of that kind; None where none follows from it."""
    if kind in FOLLOWS:
        return FOLLOWS[kind](gold)
    return None if kind in KINDS and KINDS[kind].gold_is != "answer" else gold


def _expression(gold: str) -> str | None:
    """An expression for a gold of numbers and a target; None where a short search finds none."""
    puzzle = read_gold(gold, {})
    if isinstance(puzzle, str) or len(puzzle.numbers) > 4:
        return None
    return find_expression(puzzle.numbers, int(puzzle.target))


def _query(gold: str) -> str | None:
    """The query that a gold of the kind `sql` names."""
    try:
        return str(json.loads(gold)["query"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


FOLLOWS: dict[str, Callable[[str], str | None]] = {"expression": _expression, "sql": _query}
"""Kinds whose gold is no answer itself, and yet says one."""


def wrong_answers(kind: str, problem: Problem, right: str) -> tuple[str, ...]:
    """Completions that are wrong though they look like the right one; empty where none is known.

    kind: the name of the verifier's kind. right: a right completion. At least one of the answers
    must not be paid: now and then one of them says the same in other words, as 0/6 does for 0/5.
    """
    return MAKERS.get(kind, _none)(problem, right)


def _none(problem: Problem, right: str) -> tuple[str, ...]:
    return ()


def _next_number(problem: Problem, right: str) -> tuple[str, ...]:
    """The last number and the first one, each one more than it was; else something added."""
    places = [*_NUMBER.finditer(right)]
    if not places:
        return (f"{right}+1",)
    made = (_with_next(right, place) for place in dict.fromkeys((places[-1], places[0])))
    return tuple(dict.fromkeys(made))


def _with_next(text: str, place: re.Match[str]) -> str:
    return f"{text[: place.start()]}{int(place.group()) + 1}{text[place.end() :]}"


def _other_letter(problem: Problem, right: str) -> tuple[str, ...]:
    """Another sign in place of the first letter or digit, and one sign too many."""
    at = next((at for at, sign in enumerate(right) if sign.isalnum()), 0)
    sign = "x" if right[at : at + 1] != "x" else "y"
    return (f"{right[:at]}{sign}{right[at + 1 :]}", f"{right}x")


def _other_choice(problem: Problem, right: str) -> tuple[str, ...]:
    """Another letter of A to D, written as the right one is."""
    found = re.match(r"\s{0,9}\(?([A-J])\b", right)
    if found is None:
        return _other_letter(problem, right)
    at = found.start(1)
    return tuple(f"{right[:at]}{other}{right[at + 1 :]}" for other in "ABCD" if other != found[1])


def _other_value(problem: Problem, right: str) -> tuple[str, ...]:
    """A JSON text with one of its values changed."""
    try:
        found: Any = json.loads(right)
    except (ValueError, RecursionError):
        return ()
    return (json.dumps(_changed(found)),)


def _changed(value: Any) -> Any:
    """The value with its first inner value changed."""
    if isinstance(value, dict) and value:
        rows = cast(dict[str, Any], value)
        first = next(iter(rows))
        return {**rows, first: _changed(rows[first])}
    if isinstance(value, list) and value:
        items = cast(list[Any], value)
        return [_changed(items[0]), *items[1:]]
    if isinstance(value, bool) or value is None:
        return not value
    return f"{value}x" if isinstance(value, str) else ["changed"]


def _no_code(problem: Problem, right: str) -> tuple[str, ...]:
    return ("```python\npass\n```", "```python\nraise SystemExit(0)\n```")


MAKERS: dict[str, Callable[[Problem, str], tuple[str, ...]]] = {
    "number": _next_number,
    "math": _next_number,
    "expression": _next_number,
    "text": _other_letter,
    "choice": _other_choice,
    "json": _other_value,
    "code": _no_code,
}
