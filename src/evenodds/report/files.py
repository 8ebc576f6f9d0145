"""The files of a report, each put in place at once."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from evenodds.errors import RunError
from evenodds.machine import explain
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
    _put(folder / "summary.json", json.dumps(found.summary(), indent=1) + "\n")
    done(SUMMED)
    _put(folder / "report.md", markdown(found))
    done(MARKED)
    _put(folder / "report.html", render(found))
    return folder / "report.html"


def _put(target: Path, text: str) -> None:
    """Put a file in place at once: a reader sees the old one or the new one, never a part.

    It is on the disk before it has its name: a power cut would else leave an empty page, which a
    run that has ended takes for its report. The temporary name is one that the run's own clean-up
    removes should this process be killed here.
    """
    temporary = target.parent / f".evenodds-tmp-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):  # why it could not be written is what counts
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise RunError(explain(error, target, len(text.encode()))) from error
        raise
