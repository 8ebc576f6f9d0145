"""The policy table of a verifier from a TOML file and from `key=value` on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenodds.cli.flags import entry
from evenodds.run.config import read_toml


def read_table(path: str | None, pairs: Sequence[str]) -> dict[str, Any]:
    """The entries of a policy table; pairs beat the file. What they may be, the kind decides.

    The file holds the entries at its top, or in a table [policy], or as a config has them in
    [task.policy]. Raises `UsageError` for a file or a pair that cannot be read.
    """
    table = _entries(read_toml(Path(path))) if path is not None else {}
    return table | dict(entry("policy", pair) for pair in pairs)


def _entries(data: dict[str, Any]) -> dict[str, Any]:
    task = data.get("task")
    inner = data.get("policy", task.get("policy") if isinstance(task, dict) else None)
    return dict(inner) if isinstance(inner, dict) else data
