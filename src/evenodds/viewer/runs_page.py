"""All runs of a folder, a line each, from what is quick to read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from evenodds.records.holder import is_held
from evenodds.records.lines import last_row, rows_of
from evenodds.report.record import ALARMS
from evenodds.report.summary import before_and_after, conclusion_kind, read_summary
from evenodds.report.text import one_line
from evenodds.viewer.library import Library
from evenodds.viewer.pages import Place, render
from evenodds.viewer.state import FINISHED, RUNNING, STOPPED, state_words, stopped_by

MOST = 200  # runs on the page
LARGEST = 1 << 20  # bytes of a config.toml


@dataclass(frozen=True)
class RunRow:
    """One run, safe to show. state: its kind in words."""

    name: str
    href: str
    is_main: bool
    kind: str
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
    config = _config(folder / "config.toml")
    step = last.get("step")
    held, done = is_held(folder), (folder / "evaluation" / "final.json").exists()
    ended = "" if held else _stopped_by(folder, config, step)
    kind = RUNNING if held else STOPPED if ended or not done else FINISHED
    return RunRow(
        name=folder.name,
        href="/run" if is_main else f"/r/{folder.name}/run",
        is_main=is_main,
        kind=kind,
        state=state_words(kind, ended),
        task=_task(config),
        steps=f"{step:,}" if isinstance(step, int) else "0",
        rates=before_and_after(summary),
        conclusion=conclusion_kind(summary),
        when=_when(folder),
    )


def _config(path: Path) -> Mapping[str, Any]:
    """Empty where there is none, or none of a size that a run writes."""
    try:
        small = path.is_file() and path.stat().st_size <= LARGEST
        return tomllib.loads(path.read_text(encoding="utf-8")) if small else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = config.get(name)
    return cast(Mapping[str, Any], found) if isinstance(found, dict) else {}


def _task(config: Mapping[str, Any]) -> str:
    task = _section(config, "task")
    return one_line(str(task.get("name") or task.get("data") or ""), 60)


def _stopped_by(folder: Path, config: Mapping[str, Any], step: Any) -> str:
    steps = _section(config, "run").get("steps")
    planned = steps if isinstance(steps, int) and steps > 0 else None
    return stopped_by(rows_of(folder / ALARMS), step if isinstance(step, int) else 0, planned)


def _when(folder: Path) -> str:
    try:
        return f"{datetime.fromtimestamp(folder.stat().st_mtime):%Y-%m-%d %H:%M}"
    except (OSError, ValueError, OverflowError):
        return ""
