"""A run that goes on elsewhere, followed by reading what it writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from evenodds.records.holder import is_held
from evenodds.report.again import go_on
from evenodds.report.conclusion import conclude
from evenodds.report.plain import by_coin
from evenodds.report.record import RunRecord, read_run
from evenodds.report.series import is_number
from evenodds.report.terminal import View, make_view
from evenodds.run.folder import require_run

REFRESH = 1.0


def watch(
    run: str | Path,
    *,
    seconds: float | None = None,
    view: View | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Show a run while it goes on: a live figure in a notebook, else lines in the terminal.

    It reads the run folder once a second and writes nothing, so the run never waits for it. It
    ends with the run, after `seconds`, or when it is interrupted, which leaves the run alone.
    Raises `UsageError` where there is no run.
    """
    folder = require_run(str(run))
    shown = view or make_view(sys.stderr)
    try:
        _follow(folder, shown, seconds, sleep)
    except KeyboardInterrupt:
        shown.note("no longer watched; the run goes on.")
    finally:
        shown.close()


def _follow(
    folder: Path, view: View, seconds: float | None, sleep: Callable[[float], None]
) -> None:
    record = read_run(folder)
    view.start(record.name, [f"run folder: {folder}"], record.levels)
    ends = None if seconds is None else time.monotonic() + seconds
    shown, size = 0, -1
    while True:
        goes_on = is_held(folder)  # asked before reading: what it wrote last is then read below
        if (now := _size(folder)) != size:
            shown, size = _show(view, read_run(folder), 0 if now < size else shown), now
        if not goes_on:
            return _end(folder, view)
        if ends is not None and time.monotonic() >= ends:
            return None
        sleep(REFRESH)


def _size(folder: Path) -> int:
    """Bytes of metrics; fewer than before mean that a resumed run took some steps back."""
    try:
        return (folder / "metrics.jsonl").stat().st_size
    except OSError:
        return 0


def _show(view: View, record: RunRecord, after: int) -> int:
    """Show the steps behind `after`; the last one that there is."""
    limits = record.setting("run", "steps"), record.setting("run", "max_time")
    steps, most = (limit if is_number(limit) else None for limit in limits)
    whole = None if steps is None else int(steps)
    coin = record.setting("run", "random_reward") is True
    for row in record.metrics:
        if row["step"] > after:
            elapsed = row.get("time/elapsed")
            shown = by_coin(row, None) if coin else (row, None)
            view.step(row["step"], whole, elapsed if is_number(elapsed) else 0.0, most, *shown)
    return int(record.metrics[-1]["step"]) if record.metrics else 0


def _end(folder: Path, view: View) -> None:
    record = read_run(folder)
    if record.comparison is not None:
        view.table(record.comparison, conclude(record).sentence)
    else:
        how = go_on(record.setting("task", "name"), str(folder), folder.name)
        view.note(f"nothing runs there now. Go on with: {how}")
