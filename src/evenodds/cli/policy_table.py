"""The policy table of a verifier from a TOML file and from `key=value` on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenodds.errors import UsageError
from evenodds.run.config import read_toml


def read_table(path: str | None, pairs: Sequence[str]) -> dict[str, Any]:
    """The entries of a policy table; pairs beat the file. What they may be, the kind decides.

    The file holds the entries at its top, or in a table [policy], or as a config has them in
    [task.policy]. Raises `UsageError` for a file or a pair that cannot be read.
    """
    table = _entries(read_toml(Path(path))) if path is not None else {}
    return table | dict(_pair(pair) for pair in pairs)


def _entries(data: dict[str, Any]) -> dict[str, Any]:
    task = data.get("task")
    inner = data.get("policy") or (task.get("policy") if isinstance(task, dict) else None)
    return dict(inner) if isinstance(inner, dict) else data


def _pair(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise UsageError(
            f"--policy takes key=value. Got {text!r}. Write for example --policy percent=ratio."
        )
    return key.strip(), _value(value.strip())


def _value(text: str) -> Any:
    """`true`, a number, a list or a text in quotes as JSON has it; anything else is a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
