"""What summary.json states, read as far as it says what it should."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from evenodds.report.text import one_line

LARGEST = 4 << 20  # bytes


def conclusion_kind(summary: Mapping[str, Any]) -> str:
    """learned, sharpened, worse and so on, safe to show; empty where there is no conclusion."""
    found = summary.get("conclusion")
    kind = cast(Mapping[str, Any], found).get("kind") if isinstance(found, dict) else None
    return one_line(kind.replace("_", " "), 40) if isinstance(kind, str) else ""


def read_object(path: Path) -> Mapping[str, Any]:
    """A JSON object of a file that is not absurdly large; an empty one where there is none."""
    try:
        if path.stat().st_size > LARGEST:
            return {}
        found: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast(Mapping[str, Any], found) if isinstance(found, dict) else {}
