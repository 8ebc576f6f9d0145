"""What of a row of a file is the answer, the gold, the prompt: which column, and how it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from evenodds.domain import Message, Prompt, Stop
from evenodds.errors import UsageError, nearest
from evenodds.verifiers import KINDS

ANSWERS = ("answer", "completion", "response")
GOLDS = ("gold", "target", "reference", "solution")
PROMPTS = ("prompt", "question", "problem")
MOST_GOLDS = 64
_STOPS = {str(stop): stop for stop in Stop}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Columns:
    """The names of the columns that matter; None where the file has none."""

    answer: str
    gold: str | None
    prompt: str | None
    stop: str | None

    def __str__(self) -> str:
        found = vars(self).items()
        return ", ".join(f"{role}: {name}" for role, name in found if name is not None)


def columns_of(
    names: Sequence[str], given: Mapping[str, str | None], needs_gold: bool, path: str
) -> Columns:
    """The columns that were named, else the usual ones. A run's rollouts are recognised.

    names: all that the file has. given: `answer`, `gold`, `prompt`, `stop`, where they were named.
    Raises `UsageError` for a column that is not there.
    """
    # in a run's record `answer` numbers the answers of a group
    is_rollouts = {"completion", "completion_ids"} <= set(names)
    has_gold = given.get("gold") or any(name in names for name in GOLDS)
    # beside a completion, `answer` is what data sets call the gold
    beside = not has_gold and any(name in names for name in ANSWERS[1:])
    answers = ANSWERS[1:] if is_rollouts or beside else ANSWERS
    answer = cast(str, _column(names, given, "answer", answers, path, True))
    golds = GOLDS if answer == ANSWERS[0] or is_rollouts else (*GOLDS, ANSWERS[0])
    return Columns(
        answer,
        _column(names, given, "gold", golds, path, needs_gold),
        _column(names, given, "prompt", PROMPTS, path, False),
        _column(names, given, "stop", ("stop",), path, False),
    )


def _column(
    names: Sequence[str],
    given: Mapping[str, str | None],
    role: str,
    usual: Sequence[str],
    path: str,
    is_needed: bool,
) -> str | None:
    wanted = given.get(role)
    found = next((name for name in ([wanted] if wanted else usual) if name in names), None)
    if found is not None or not (is_needed or wanted):
        return found
    hint = nearest(wanted or usual[0], names) if names else "It has no columns."
    raise UsageError(f"{path} has no {role} column {wanted or usual[0]!r}. {hint} Use --{role}.")


def answer_of(row: Row, columns: Columns) -> str:
    """The answer as text; empty where the row has none, so that it is judged as no answer."""
    return text_of(row.get(columns.answer))


def golds_of(row: Row, columns: Columns, kind: str | None) -> list[str]:
    """The golds of a row: one, or for a list several of which any is right. See docs/bench.md.

    kind: the verifier's; None for a person's own function, which gets a list as JSON text.
    """
    value = None if columns.gold is None else row.get(columns.gold)
    if isinstance(value, list) and kind is not None and KINDS[kind].gold_is != "table":
        golds = [text_of(item) for item in cast(list[object], value)[:MOST_GOLDS]]
        return golds or [""]
    return [text_of(value)]


def prompt_of(row: Row, columns: Columns) -> Prompt:
    """The prompt as a text, or as messages where it is a list of them."""
    value = None if columns.prompt is None else row.get(columns.prompt)
    messages = _messages(value)
    return messages if messages is not None else text_of(value)


def stop_of(row: Row, columns: Columns) -> Stop:
    """Why the answer ended, where the row says so in our words; else at its end."""
    value = None if columns.stop is None else row.get(columns.stop)
    return _STOPS.get(value, Stop.END_TOKEN) if isinstance(value, str) else Stop.END_TOKEN


def text_of(value: object) -> str:
    """A text as it is; a number as Python writes it; of messages the last one's content.

    None is the empty text; a list or an object is its JSON text; bytes are read as UTF-8.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    messages = _messages(value)
    if messages is not None:
        return messages[-1]["content"]
    if isinstance(value, (list, dict, bool)):
        return json.dumps(value, default=str)
    return str(value)


def _messages(value: object) -> tuple[Message, ...] | None:
    """A list of messages, each with a role and a content that is a text; None for all else."""
    if not isinstance(value, list) or not value:
        return None
    found: list[Message] = []
    for item in cast(list[object], value):
        row = cast(dict[str, object], item) if isinstance(item, dict) else {}
        role, content = row.get("role"), row.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            return None
        found.append(Message(role=role, content=content))
    return tuple(found)
