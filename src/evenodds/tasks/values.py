"""Foreign values as prompts, answers and short texts: checked once, where they come in."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from hashlib import sha256
from numbers import Real
from pathlib import Path
from typing import cast

from evenodds.domain import Message, Prompt, as_text
from evenodds.errors import UsageError

SHOWN = 60
MAX_CHARACTERS = 1_000_000
"""No model reads a longer prompt; a longer answer is a mistake too."""

_ROLES = frozenset({"system", "user", "assistant"})
_FIELDS = "A prompt is a text or a list of messages; an answer is a text or a number."


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a file's bytes; None where there is no such file."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):  # ValueError: a name with a null character
        return None


def fields_of(given: Sequence[object], names: tuple[str, str]) -> tuple[Prompt, str]:
    """A prompt and an answer, checked; `names` are what to call them in an error."""
    prompt, answer = as_prompt(given[0]), as_answer(given[1])
    if prompt is None or answer is None:
        at = 0 if prompt is None else 1
        raise UsageError(f"{names[at]} is unusable. Got {short(given[at])}. {_FIELDS}")
    for name, text in zip(names, (as_text(prompt), answer), strict=True):
        against = objection(text, MAX_CHARACTERS)
        if against:
            raise UsageError(f"{name} is unusable: {against}. Got {short(text)}.")
    return prompt, answer


def objection(text: str, most: int) -> str | None:
    """Why a text cannot be used; None where it can."""
    if len(text) > most:
        return f"it has {len(text)} characters, and at most {most} are read"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair, which is no text"
    return None


def short(value: object) -> str:
    """A foreign value in one short line."""
    try:
        text = " ".join(str(value)[:1_000].split())
    except Exception:  # a foreign type may not be written
        text = f"a {type(value).__name__}"
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def as_answer(value: object) -> str | None:
    """An answer as text; None for what is neither a text nor a finite number."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        return None
    try:
        text = str(value)
    except ValueError:  # a whole number of more digits than Python writes
        return None
    # nan and inf are written without one
    return text if any(sign.isdigit() for sign in text) else None


def as_prompt(value: object) -> Prompt | None:
    if isinstance(value, str):
        return value if value.strip() else None
    if not isinstance(value, (list, tuple)) or not value:
        return None
    messages = [_message(item) for item in cast(Sequence[object], value)]
    return None if None in messages else tuple(m for m in messages if m is not None)


def _message(item: object) -> Message | None:
    if not isinstance(item, dict):
        return None
    row = cast(dict[str, object], item)
    role, content = row.get("role"), row.get("content")
    if role not in _ROLES or not isinstance(content, str):
        return None
    return Message(role=str(role), content=content)
