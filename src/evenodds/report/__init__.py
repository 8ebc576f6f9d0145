"""What a person sees of a run: a live view in the terminal, and a page at its end."""

from __future__ import annotations

from pathlib import Path

from evenodds.report.comparison import Comparison, compare
from evenodds.report.terminal import View, make_view
from evenodds.report.text import safe

__all__ = ["Comparison", "View", "compare", "make_view", "safe", "write_report"]


def write_report(run: Path) -> Path:
    """Write `report.html`, `report.md` and `summary.json` into the folder; returns the page's path.

    Works while a run is under way and after it was stopped: what is missing is said to be.
    """
    from evenodds.report.files import write_page  # jinja2 and pyarrow are loaded only when needed

    return write_page(run)
