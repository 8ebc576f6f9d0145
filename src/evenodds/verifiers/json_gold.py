"""Golds that are a table in JSON: how every kind that has one reads it, and refuses it."""

from __future__ import annotations

import json
from typing import Any, cast


class BadGold(ValueError):
    """The gold cannot be used; the message says why."""


def parsed(text: str, most: int) -> Any:
    """The JSON value of a gold of at most so many characters. Raises `BadGold`."""
    if len(text) > most:
        raise BadGold(f"it has {len(text)} characters, and at most {most} are read")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadGold(f"it is no JSON ({str(error)[:80]})") from error


def table_of(text: str, most: int, layout: str) -> dict[str, Any]:
    """The table that a gold is. layout: what it should look like, for the error `BadGold`."""
    found = parsed(text, most)
    if not isinstance(found, dict):
        raise BadGold(f"it is no JSON table; {layout}")
    return cast("dict[str, Any]", found)
