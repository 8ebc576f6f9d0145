"""A run folder may come from a stranger: what its config.toml may name as code to be run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenodds.errors import UsageError


def require_code_of_ones_own(saved: Mapping[str, Any], folder: Path) -> None:
    """Raise `UsageError` where the settings of a run name code in its own folder, or a module of
    Python's library as if it were a person's.

    A file elsewhere on this machine is one that its owner has put there; a file that came with the
    records is not. To go on with a run that names such a file one must copy it, and so look at it.
    """
    home = folder.resolve()
    for key, value in _named(saved):
        place = value.partition(":")[0]
        if place.endswith(".py") and _lies_in(place, home):
            raise UsageError(
                f"the run {str(folder)!r} names code in its own folder: {key} is {value[:100]!r}. "
                "A run folder may come from a stranger, so that is not run. Put the file elsewhere."
            )
        if ":" in value and place.partition(".")[0] in sys.stdlib_module_names:
            raise UsageError(
                f"the run {str(folder)!r} names Python's own {value[:100]!r} as {key}, which "
                "judges nothing. Mend its config.toml."
            )


def _named(saved: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every setting that is a text, or texts in a list."""
    for section, table in saved.items():
        for key, value in table.items() if isinstance(table, dict) else ():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str):
                    yield f"{section}.{key}", one


def _lies_in(place: str, home: Path) -> bool:
    try:
        return Path(place).expanduser().resolve().is_relative_to(home)
    except (OSError, ValueError, RuntimeError):
        return True
