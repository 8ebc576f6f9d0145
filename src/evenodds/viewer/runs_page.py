"""All runs of a folder, a line each, from what is quick to read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evenodds.records.holder import is_held
from evenodds.records.lines import last_row
from evenodds.report.summary import before_and_after, conclusion_kind, read_summary
from evenodds.report.text import one_line
from evenodds.viewer.library import Library
from evenodds.viewer.pages import Place, render

MOST = 200  # runs on the page
LARGEST = 1 << 20  # bytes of a config.toml


@dataclass(frozen=True)
class RunRow:
    """One run, safe to show."""

    name: str
    href: str
    is_main: bool
    state: str
    task: str
    steps: str
    rates: str
    conclusion: str
    when: str


def runs_page(place: Place, library: Library) -> str:
    names = library.names()
    root = library.main.folder.resolve().parent
    rows = [_row(root / name, name == library.main.name) for name in names[:MOST]]
    return render(place, "runs.html.j2", "", rows=rows, left=len(names) - len(rows), root=str(root))


def _row(folder: Path, is_main: bool) -> RunRow:
    last, summary = last_row(folder / "metrics.jsonl"), read_summary(folder)
    step = last.get("step")
    held, done = is_held(folder), (folder / "evaluation" / "final.json").exists()
    return RunRow(
        name=folder.name,
        href="/run" if is_main else f"/r/{folder.name}/run",
        is_main=is_main,
        state="running" if held else "finished" if done else "stopped",
        task=_task(folder / "config.toml"),
        steps=f"{step:,}" if isinstance(step, int) else "0",
        rates=before_and_after(summary),
        conclusion=conclusion_kind(summary),
        when=_when(folder),
    )


def _task(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            return ""
        task: Any = tomllib.loads(path.read_text(encoding="utf-8")).get("task", {})
        return one_line(str(task.get("name") or task.get("data") or ""), 60)
    except (OSError, ValueError, AttributeError):
        return ""


def _when(folder: Path) -> str:
    try:
        return f"{datetime.fromtimestamp(folder.stat().st_mtime):%Y-%m-%d %H:%M}"
    except (OSError, ValueError, OverflowError):
        return ""
