"""What summary.json states of a run, for lists of runs: read as far as it says what it should."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from evenodds.records.lines import read_object
from evenodds.report.series import is_number
from evenodds.report.text import one_line

LARGEST = 4 << 20  # bytes


def read_summary(run: Path) -> Mapping[str, Any]:
    """Empty where there is none, or none of a size that a report writes."""
    return read_object(run / "summary.json", LARGEST)


def conclusion_kind(summary: Mapping[str, Any]) -> str:
    """learned, sharpened, worse and so on, safe to show; empty where there is no conclusion."""
    found = summary.get("conclusion")
    kind = cast(Mapping[str, Any], found).get("kind") if isinstance(found, dict) else None
    return one_line(kind.replace("_", " "), 40) if isinstance(kind, str) else ""


def before_and_after(summary: Mapping[str, Any]) -> str:
    """Sampled accuracy over all levels, as `40.1 → 52.3 %`; empty where it does not say."""
    try:
        overall = summary["comparison"]["overall"]
        before, after = (overall[side]["sampled"]["mean"] for side in ("before", "after"))
    except (KeyError, TypeError):
        return ""
    if not is_number(before) or not is_number(after):
        return ""
    return f"{100 * before:.1f} → {100 * after:.1f} %"
