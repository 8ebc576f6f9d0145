"""The files of a report, each put in place at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from evenodds.durable import write_file
from evenodds.report.findings import findings_of
from evenodds.report.html import render
from evenodds.report.markdown import markdown

Tell = Callable[[int, int], None]

WHOLE = 100  # parts of the work, of which reading, summary and Markdown are about these
READ, SUMMED, MARKED = 15, 60, 65


def write_page(folder: Path, tell: Tell | None = None) -> Path:
    """All three files; returns the page. Raises `UsageError` where the folder is no run.

    tell: is called with how much of the work is done, which for a long run takes a while.
    """

    def done(part: int) -> None:
        if tell is not None:
            tell(part, WHOLE)

    done(0)
    found = findings_of(folder)
    done(READ)
    write_file(folder / "summary.json", json.dumps(found.summary(), indent=1) + "\n")
    done(SUMMED)
    write_file(folder / "report.md", markdown(found))
    done(MARKED)
    write_file(folder / "report.html", render(found))
    return folder / "report.html"
