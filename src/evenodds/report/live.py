"""The live view of a terminal: a few lines that change in place while a run goes on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evenodds.report.comparison import BETTER, WORSE, Comparison, Row
from evenodds.report.plain import TABLE_HEAD, last_line, level_label, rate_name, signal, table_row
from evenodds.report.series import is_number
from evenodds.report.story import by_level, headline
from evenodds.report.terminal import Sample
from evenodds.report.text import duration, one_line, safe, short, sparkline

REFRESH = 0.1  # seconds between two pictures, at least
ANSWER_LINES = 5
NAME_WIDTH = 12
MOST_HISTORY = 2000  # an even number
STYLES = {"right": "green", "wrong": "red"}
VERDICTS = {BETTER: "green", WORSE: "red"}


class Terminal(Console):
    """A console that falls silent when its other end is gone; rich would leave the program."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


@dataclass
class Progress:
    """How far something is: done of total, what to call it, seconds left if that is known."""

    name: str
    done: float
    total: float
    words: str
    left: float | None = None

    @property
    def share(self) -> float:
        """In [0, 1]; 0 where the whole is not known."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def told(self) -> str:
        """`step 42 · 1:17 left`."""
        return self.words + (f" · {duration(self.left)} left" if self.left is not None else "")


@dataclass
class RichView:
    """A picture of a fixed height at the bottom of the terminal; notes scroll away above it."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    levels: Sequence[str] = ()
    history: dict[str, list[float]] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    sample: Sample | None = None
    progress: Progress | None = None
    phase_began: tuple[str, float, int] = ("", 0.0, 0)
    drawn_at: float = -1e9

    def __post_init__(self) -> None:
        self.console = Terminal(file=self.stream, highlight=False)
        self.live: Live | None = None

    def start(self, title: str, lines: Sequence[str], levels: Sequence[str] = ()) -> None:
        self.levels = tuple(levels)
        with _unbroken():
            self.console.print(Text(one_line(title), "bold"))
            for line in lines:
                self.console.print(Text(one_line(line), "dim"))

    def phase(self, name: str, done: int, total: int) -> None:
        now = self.clock()
        if name != self.phase_began[0]:
            self.phase_began = (name, now, done)
        since, made = now - self.phase_began[1], done - self.phase_began[2]
        left = since * (total - done) / made if made > 0 and done < total else None
        self.progress = Progress(one_line(name), done, total, f"{done} of {total}", left)
        self._draw(now, force=done >= total)

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
        self.metrics = metrics
        self.sample = sample or self.sample
        for key in ("solve_rate", "difficulty", "entropy"):
            if is_number(metrics.get(key)):
                kept = self.history.get(key, [])
                self.history[key] = [*squeezed(kept), float(metrics[key])]
        self._draw(self.clock())

    def note(self, text: str) -> None:
        with _unbroken():
            self.console.print(Text(one_line(text)))

    def table(self, comparison: Comparison, sentence: str = "") -> None:
        self.close()
        with _unbroken():
            self.console.print(result_table(comparison, self.console.width))
            if levels := by_level(comparison):
                self.console.print(Text(levels))
            self.console.print(Text(one_line(sentence) or headline(comparison), "bold"))

    def close(self) -> None:
        live, self.live = self.live, None
        if live is not None:
            with _unbroken():
                live.update(Group(self.picture(), Text("")))
                live.stop()

    def picture(self) -> RenderableType:
        """What stands in the terminal now."""
        width = max(30, min(80, self.console.width - 1))
        lines: list[RenderableType] = [Text("")]
        if self.progress is not None:
            lines += progress_lines(self.progress, width)
        if self.history:
            lines += metric_lines(self.history, self.metrics, self.levels, width)
        if self.sample is not None:
            lines += sample_lines(self.sample, width)
        return Group(*lines)

    def _draw(self, now: float, force: bool = False) -> None:
        if now - self.drawn_at < REFRESH and not force:
            return
        self.drawn_at = now
        with _unbroken():
            if self.live is None:
                # drawn by the run itself: a thread could be forked in the middle of a line
                self.live = Live(console=self.console, auto_refresh=False, redirect_stdout=False)
                self.live.start()
            self.live.update(self.picture(), refresh=True)


@contextlib.contextmanager
def _unbroken() -> Generator[None]:
    """A terminal that went away must not end a run."""
    with contextlib.suppress(OSError, ValueError):
        yield


def squeezed(values: list[float]) -> list[float]:
    """A history that never grows long: at the limit, neighbours are replaced by their mean."""
    if len(values) < MOST_HISTORY:
        return values
    return [(one + two) / 2 for one, two in zip(values[::2], values[1::2], strict=True)]


def training_progress(
    step: int, total_steps: int | None, elapsed: float, max_time: float | None
) -> Progress:
    """By whichever limit comes first: the number of steps, or the time."""
    by_steps = elapsed / step * (total_steps - step) if total_steps and step else None
    by_time = max(0.0, max_time - elapsed) if max_time else None
    words = f"step {step} of {total_steps}" if total_steps else f"step {step}"
    if total_steps and (by_time is None or (by_steps is not None and by_steps <= by_time)):
        return Progress("training", step, total_steps, words, by_steps)
    if by_time is not None:
        return Progress("training", elapsed, max_time or 0.0, words, by_time)
    return Progress("training", 0, 0, f"step {step}, {duration(elapsed)}")


def progress_lines(progress: Progress, width: int) -> list[RenderableType]:
    """`training  ━━━━━━━━━╸─────  step 42 · 1:17 left`."""
    words = progress.told
    line = Text(f"{progress.name}  ", "bold", no_wrap=True, overflow="crop")
    room = max(5, width - len(line) - len(words) - 2)
    full = round(progress.share * room)
    line.append("━" * full, "cyan").append("─" * (room - full), "dim")
    return [line.append(f"  {words}", "not bold"), Text("")]


def metric_lines(
    history: Mapping[str, Sequence[float]],
    metrics: Mapping[str, Any],
    levels: Sequence[str],
    width: int,
) -> list[RenderableType]:
    """Two or three measures with their histories, and the speed; always as many lines."""
    label = level_label((history.get("difficulty") or [None])[-1], levels)
    room = max(8, min(40, width - NAME_WIDTH - 10 - max(len(label), 23)))
    ladder = [("difficulty", "difficulty", "yellow", (None, None), label)]
    rows = [
        ("solve_rate", rate_name(metrics), "green", (0.0, 1.0), " · ".join(signal(metrics))),
        *(ladder if len(levels) != 1 else []),
        ("entropy", "entropy", "magenta", (0.0, None), "nats a token"),
    ]
    lines: list[RenderableType] = []
    for key, name, style, (low, high), words in rows:
        values = history.get(key, ())
        line = Text(f"{name:<{NAME_WIDTH}}", no_wrap=True, overflow="crop")
        line.append(f"{_value(key, values):>6}  ", "bold")
        line.append(f"{sparkline(values, room, low, high):<{room}}  ", style)
        lines.append(line.append(words, "dim"))
    speed = metrics.get("time/tokens_per_second")
    said = f"{speed:,.0f} tokens/s" if is_number(speed) else "–"
    return [*lines, Text(f"{'speed':<{NAME_WIDTH}}{said:>6}", no_wrap=True), Text("")]


def _value(key: str, values: Sequence[float]) -> str:
    if not values:
        return "–"
    return f"{100 * values[-1]:.0f} %" if key == "solve_rate" else short(round(values[-1], 2))


def sample_lines(sample: Sample, width: int) -> list[RenderableType]:
    """The end of a prompt, an answer with its verdict; always the same number of lines."""
    prompt, completion, status, gold = sample
    style = STYLES.get(status, "yellow")
    mark = {"right": "✓ right", "wrong": "✗ wrong"}.get(status, one_line(status.replace("_", " ")))
    head = Text("problem  ", "dim", no_wrap=True, overflow="ellipsis").append(
        last_line(prompt), "not dim bold"
    )
    verdict = Text("verdict  ", "dim", no_wrap=True, overflow="ellipsis")
    verdict.append(mark, f"not dim bold {style}").append(f"  expected {one_line(gold)}")
    return [head, *_answer_lines(completion, width), verdict]


def _answer_lines(completion: str, width: int) -> list[RenderableType]:
    """The answer in exactly `ANSWER_LINES` lines; its end is kept, for that is what is judged."""
    room = width - 9
    rows = [
        row[at : at + room]
        for row in safe(completion.strip("\n")).expandtabs(4).split("\n")
        for at in range(0, max(1, len(row)), room)
    ]
    if len(rows) > ANSWER_LINES:
        rows = ["…", *rows[1 - ANSWER_LINES :]]
    rows += [""] * (ANSWER_LINES - len(rows))
    names = ["answer   ", *[" " * 9] * (ANSWER_LINES - 1)]
    return [
        Text(name, "dim", no_wrap=True, overflow="ellipsis").append(row, "not dim")
        for name, row in zip(names, rows, strict=True)
    ]


def result_table(comparison: Comparison, width: int) -> Table:
    """Base against trained by level; a narrow terminal does without some columns."""
    left_out = () if width >= 78 else ("greedy",)
    table = Table(box=None, padding=(0, 1), pad_edge=False, collapse_padding=True)
    first, *numbers, last = [name for name in TABLE_HEAD if name not in left_out]
    table.add_column(first, no_wrap=True, max_width=18, overflow="ellipsis")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(last, no_wrap=True)
    for row in comparison.rows:
        table.add_row(*_cells(row, left_out), style="bold" if row.level is None else "")
    return table


def _cells(row: Row, left_out: Sequence[str]) -> list[Text]:
    cells = zip(TABLE_HEAD, table_row(row), strict=True)
    *words, verdict = [word for name, word in cells if name not in left_out]
    mark = {BETTER: "▲ better", WORSE: "▼ worse"}.get(verdict, verdict)
    return [*(Text(word) for word in words), Text(mark, VERDICTS.get(verdict, "dim"))]
