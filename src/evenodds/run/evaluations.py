"""The record of an evaluation, read from where a run has written it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from evenodds.report.sound import is_evaluation


def read_evaluation(path: Path) -> dict[str, Any]:
    """Raises `ValueError` with what is wrong with it, and `OSError` where it cannot be read."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if not isinstance(found, dict) or not is_evaluation(cast(dict[str, Any], found)):
        raise ValueError("it is no evaluation")
    return cast(dict[str, Any], found)
