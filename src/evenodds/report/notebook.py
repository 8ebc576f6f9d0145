"""The live view of a notebook: one figure under the cell, drawn again while a run goes on."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenodds.report.comparison import Comparison
from evenodds.report.live import Progress, training_progress
from evenodds.report.pictures import DIFFICULTY, training_pictures
from evenodds.report.plain import table_lines
from evenodds.report.record import RunRecord
from evenodds.report.sheet import sheet
from evenodds.report.terminal import Sample
from evenodds.report.text import one_line, safe

REFRESH = 1.0  # seconds between two figures, at least
PANELS = 4
NOTES = 6  # the newest ones are shown
STYLE = "font: 13px/1.5 system-ui, sans-serif; margin: .2em 0; white-space: pre-wrap"


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook: only that can change a cell's output."""
    library = sys.modules.get("IPython")
    shell = library.get_ipython() if library is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


@dataclass
class NotebookView:
    """show: puts HTML under the cell, in place of what it put there before."""

    show: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    title: str = ""
    lines: Sequence[str] = ()
    progress: Progress | None = None
    rows: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    notes: list[str] = field(default_factory=list[str])
    result: str = ""
    sample: Sample | None = None
    shown_at: float = -1e9

    def start(self, title: str, lines: Sequence[str], levels: Sequence[str] = ()) -> None:
        self.title, self.lines = title, tuple(lines)
        self._draw(force=True)

    def phase(self, name: str, done: int, total: int) -> None:
        self.progress = Progress(name, done, total, f"{done} of {total}")
        self._draw(force=done >= total)

    def step(
        self,
        step: int,
        total_steps: int | None,
        elapsed: float,
        max_time: float | None,
        metrics: Mapping[str, Any],
        sample: Sample | None = None,
    ) -> None:
        self.progress = training_progress(step, total_steps, elapsed, max_time)
        self.rows.append(metrics)
        self.sample = sample or self.sample
        self._draw()

    def note(self, text: str) -> None:
        self.notes.append(text)
        self._draw(force=True)

    def table(self, comparison: Comparison, sentence: str = "") -> None:
        self.result = "\n".join(map(safe, table_lines(comparison, sentence)))
        self._draw(force=True)

    def close(self) -> None:
        self._draw(force=True)

    def page(self) -> str:
        """What stands under the cell now. All that a run says is escaped."""
        parts = [_line(self.title, "font-weight: 600"), *map(_line, self.lines)]
        if self.progress is not None:
            parts.append(_bar(self.progress))
        if self.rows:
            parts.append(figure(self.rows))
        if self.sample is not None:
            prompt, answer, status, gold = (one_line(part, 200) for part in self.sample)
            parts.append(_line(f"{prompt} {answer} – {status}, expected {gold}", "opacity: .75"))
        parts += map(_line, self.notes[-NOTES:])
        if self.result:
            style = "font-family: monospace; white-space: pre-wrap"  # sentences are long
            parts.append(f"<pre style='{style}'>{html.escape(self.result)}</pre>")
        return "".join(parts)

    def _draw(self, force: bool = False) -> None:
        now = self.clock()
        if now - self.shown_at < REFRESH and not force:
            return
        self.shown_at = now
        with suppress(Exception):  # a page that went away must not end a run
            self.show(self.page())


def figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first pictures of training as one SVG that stands for itself.

    A difficulty that never moves is no picture.
    """
    run = RunRecord(Path(), {}, {}, [dict(row) for row in rows], None, None)
    moves = len({row.get("difficulty") for row in rows}) > 1
    pictures = [p for p in training_pictures(run) if moves or p.title != DIFFICULTY]
    return sheet("", [picture.svg for picture in pictures[:PANELS]])


def _line(text: str, style: str = "") -> str:
    return f'<div style="{STYLE}; {style}">{html.escape(safe(text))}</div>' if text else ""


def _bar(progress: Progress) -> str:
    words = html.escape(f"{one_line(progress.name)}: {progress.told}")
    return f'<div style="{STYLE}"><progress value="{progress.share:.4f}"></progress> {words}</div>'


def cell() -> Callable[[str], None]:
    """A place under the running cell. Only for a kernel: see `in_notebook`."""
    from IPython.display import HTML, display  # pyright: ignore

    handle: Any = display(HTML(""), display_id=True)

    def show(page: str) -> None:
        handle.update(HTML(page))

    return show
