"""Plain lines for logs, pipes and terminals that want no colour."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from evenodds.domain import NOT_JUDGED
from evenodds.report.comparison import Comparison, Row
from evenodds.report.series import is_number, taught
from evenodds.report.story import by_level, headline
from evenodds.report.terminal import Sample
from evenodds.report.text import duration, one_line, safe, short, shortened

MOST_OFTEN = 2.0  # seconds between two lines, at least
STEPS, SECONDS = 10, 20.0  # a line is due after so many steps, or so long
LINES_PER_SAMPLE = 5
UNJUDGED = tuple(sorted(NOT_JUDGED, reverse=True))
TABLE_HEAD = ("held-out", "sampled", "points gained [95 %]", "greedy", "verdict")


@dataclass
class PlainView:
    """Writes whole lines only: the first step, one now and then, and the last."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    levels: Sequence[str] = ()
    shown_at: float = -1e9
    shown_step: int = -1
    shown_phase: str = ""
    held: str | None = field(default=None)  # the newest line that was not yet due
    held_step: int = -1
    lines: int = 0

    def start(self, title: str, lines: Sequence[str], levels: Sequence[str] = ()) -> None:
        self.levels = tuple(levels)
        self._write(one_line(title))
        for line in lines:
            self._write(f"  {one_line(line)}")

    def phase(self, name: str, done: int, total: int) -> None:
        first_or_last = name != self.shown_phase or done >= total
        if not first_or_last and self.clock() - self.shown_at < SECONDS / 2:
            return
        self._flush()
        self.shown_phase, self.shown_at = name, self.clock()
        self._write(f"{one_line(name)}: {done} of {total}")

    def step(
        self,
        step: int,
        total_steps: int | None,
        elapsed: float,
        max_time: float | None,
        metrics: Mapping[str, Any],
        sample: Sample | None = None,
    ) -> None:
        self.held = step_line(step, total_steps, elapsed, max_time, metrics, self.levels)
        self.held_step = step
        if not self._due(step, total_steps):
            return
        self._flush()
        if sample is not None and self.lines % LINES_PER_SAMPLE == 0:
            self._write(sample_line(sample))
        self.lines += 1

    def note(self, text: str) -> None:
        self._flush()
        self._write(one_line(text))

    def table(self, comparison: Comparison, sentence: str = "") -> None:
        self._flush()
        for line in table_lines(comparison, sentence):
            self._write(line)

    def close(self) -> None:
        self._flush()

    def _due(self, step: int, total_steps: int | None) -> bool:
        since = self.clock() - self.shown_at
        if self.shown_step < 0:
            return True  # the first step is always told
        by_count = step - self.shown_step >= STEPS and step + 1 != total_steps
        return since >= MOST_OFTEN and (by_count or since >= SECONDS)

    def _flush(self) -> None:
        line, self.held = self.held, None
        if line is not None:
            self.shown_at, self.shown_step = self.clock(), self.held_step
            self._write(line)

    def _write(self, line: str) -> None:
        # a log that is full or gone must not end a run
        with contextlib.suppress(OSError, ValueError):
            encoding = getattr(self.stream, "encoding", None) or "utf-8"
            text = safe(line).encode(encoding, "replace").decode(encoding)
            self.stream.write(text + "\n")
            self.stream.flush()


def step_line(
    step: int,
    total_steps: int | None,
    elapsed: float,
    max_time: float | None,
    metrics: Mapping[str, Any],
    levels: Sequence[str],
) -> str:
    """`step 40/200 · 0:31 of 2:00 · solve rate 0.52 · mixed 62 % · difficulty 3.4 (…) · …`."""
    of_steps = f"/{total_steps}" if total_steps else ""
    of_time = f" of {duration(max_time)}" if max_time else ""
    parts = [f"step {step}{of_steps}", f"{duration(elapsed)}{of_time}"]
    if is_number(metrics.get("solve_rate")):
        parts.append(f"{rate_name(metrics)} {metrics['solve_rate']:.2f}")
    parts += signal(metrics)
    if is_number(metrics.get("difficulty")) and len(levels) != 1:
        label = level_label(metrics["difficulty"], levels)
        parts.append(f"difficulty {metrics['difficulty']:.2f}" + (f" ({label})" if label else ""))
    if is_number(metrics.get("time/tokens_per_second")):
        parts.append(f"{metrics['time/tokens_per_second']:,.0f} tokens/s")
    if is_number(metrics.get("entropy")):
        parts.append(f"entropy {short(metrics['entropy'])}")
    return " · ".join(parts)


COIN = "by_coin"
PAID = {"right": "paid by a coin", "wrong": "not paid, by a coin"}


def by_coin(
    metrics: Mapping[str, Any], sample: Sample | None
) -> tuple[Mapping[str, Any], Sample | None]:
    """What is shown of a step whose rewards a coin drew: it paid, and found nothing right."""
    if sample is not None:
        prompt, completion, status, gold = sample
        sample = prompt, completion, PAID.get(status, status), gold
    return {**metrics, COIN: True}, sample


def rate_name(metrics: Mapping[str, Any]) -> str:
    """What the share of paid answers is called."""
    return "paid by coin" if metrics.get(COIN) else "solve rate"


def signal(metrics: Mapping[str, Any]) -> list[str]:
    """`mixed 62 %`, the share of the groups that teach; `not judged 3 %` of the answers, where
    there are such; `no update` where none was made, `update skipped` for a number not finite."""
    share = taught(metrics)
    mixed = [] if share is None else [f"mixed {100 * share:.0f} %"]
    left_out = sum(share for _, share in not_judged(metrics))
    unjudged = [f"not judged {100 * left_out:.2g} %"] if left_out else []
    without = ["no update"] if "skipped" in metrics else []
    return [*mixed, *unjudged, *(["update skipped"] if "fault" in metrics else without)]


def not_judged(metrics: Mapping[str, Any]) -> list[tuple[str, float]]:
    """(status, share of the answers) of those that could not be judged, without zeros."""
    found = [(name, metrics.get(f"status/{name}")) for name in UNJUDGED]
    return [(name, float(share)) for name, share in found if is_number(share) and share]


def level_label(difficulty: Any, levels: Sequence[str]) -> str:
    """The label of the level nearest to a difficulty, or nothing where it is not known."""
    if not is_number(difficulty) or not levels:
        return ""
    return one_line(levels[min(len(levels) - 1, max(0, round(difficulty)))], 24)


def sample_line(sample: Sample) -> str:
    question = one_line(last_line(sample[0]))
    completion, status, gold = (one_line(text) for text in sample[1:])
    return f"  {question[-40:]} → {shortened(completion, 60)}  [{status}, expected {gold[:24]}]"


def last_line(prompt: str) -> str:
    """The question itself, where worked examples come before it."""
    return safe(prompt).rstrip().rpartition("\n")[2]


def table_lines(comparison: Comparison, sentence: str = "") -> list[str]:
    """The final table in at most 91 columns, mostly fewer than 80, with its sentences.

    sentence: what stands in place of the comparison's own.
    """
    rows = [TABLE_HEAD, *(table_row(row) for row in comparison.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_aligned(row, widths) for row in rows]
    return [*lines, *filter(None, [by_level(comparison), sentence or headline(comparison)])]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """The level and the verdict stand at the left of their columns, numbers at the right."""
    sides = ("<", *">" * (len(row) - 2), "<")
    cells = [f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)]
    return "  ".join(cells).rstrip()


def table_row(row: Row) -> tuple[str, ...]:
    """The cells of `TABLE_HEAD`; sampled and greedy rates are those before → after training."""
    sampled = f"{100 * row.before.sampled.mean:.1f} → {100 * row.after.sampled.mean:.1f} %"
    old, new = row.before.greedy, row.after.greedy
    greedy = f"{100 * old.mean:.0f} → {100 * new.mean:.0f} %" if old and new else "–"
    return one_line(row.label, 18), sampled, row.gain.points(""), greedy, row.verdict
