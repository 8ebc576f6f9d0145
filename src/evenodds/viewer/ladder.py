"""The ladder as a strip: how much of each level was right step by step, and what is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenodds.report.plots import percent
from evenodds.report.record import RunRecord
from evenodds.report.series import is_number
from evenodds.report.svg import (
    BOTTOM,
    LETTER,
    TOP,
    WIDTH,
    empty,
    named,
    nice_ticks,
    number,
    picture,
)
from evenodds.report.svg import text as words
from evenodds.report.text import shortened

COLUMNS = 60  # at most so many cells beside each other
ROW = 16.0  # height of a level
LABEL = 16
PALEST = 0.06
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Level:
    """One level. cells: solve rate by stretch of steps, None where it was not drawn. believed:
    the curriculum's posterior after the last step."""

    level: int
    label: str
    cells: tuple[float | None, ...]
    groups: int
    believed: float | None


def levels_of(run: RunRecord) -> list[Level]:
    """Every level that was drawn or is known, the hardest first."""
    rows = run.metrics
    drawn = sorted({level for row in rows for level in _levels(row)})
    every = range(len(run.levels)) if run.levels else drawn
    labels = {level: run.levels[level] if run.levels else f"level {level}" for level in every}
    bins = _bins(rows)
    found = [
        Level(
            level,
            labels.get(level, f"level {level}"),
            tuple(_rate(part, level) for part in bins),
            sum(int(row.get(f"level/{level}/groups") or 0) for row in rows),
            _believed(rows, labels.get(level, "")),
        )
        for level in sorted({*every, *drawn}, reverse=True)
    ]
    return [level for level in found if level.groups or level.believed is not None]


def _levels(row: Row) -> list[int]:
    names = [key.split("/") for key in row if key.startswith("level/") and key.endswith("/groups")]
    return [int(parts[1]) for parts in names if len(parts) == 3 and parts[1].isdecimal()]


def _bins(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """The steps in at most `COLUMNS` stretches of one length."""
    size = max(1, math.ceil(len(rows) / COLUMNS))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _rate(rows: Sequence[Row], level: int) -> float | None:
    """Solve rate of a level over some steps, each group counting alike."""
    pairs = [
        (row.get(f"level/{level}/groups"), row.get(f"level/{level}/solve_rate")) for row in rows
    ]
    known = [(float(n), float(rate)) for n, rate in pairs if is_number(n) and is_number(rate)]
    total = sum(n for n, _ in known)
    return sum(n * rate for n, rate in known) / total if total else None


def _believed(rows: Sequence[Row], label: str) -> float | None:
    value = rows[-1].get(f"posterior/{label}") if rows else None
    return float(value) if is_number(value) else None


def ladder_picture(run: RunRecord) -> str:
    """The strip as SVG: the darker a cell, the more of its answers were right."""
    title = "The ladder: solve rate of each level over the steps"
    levels = levels_of(run)
    if not levels or not run.metrics:
        return empty(title, "No step has been recorded yet.")
    left = 12 + LETTER * max(len(shortened(level.label, LABEL)) for level in levels)
    right = WIDTH - 46
    height = TOP + BOTTOM + ROW * len(levels)
    wide = (right - left) / max(1, len(levels[0].cells))
    parts = [words(0, 11, "level", "label"), words(WIDTH, 11, "believed", "label", "end")]
    for place, level in enumerate(levels):
        parts += _row(level, TOP + ROW * place, left, wide)
    return picture(title, [*parts, *_axis(run.metrics, left, right, height - BOTTOM)], height)


def _row(level: Level, top: float, left: float, wide: float) -> list[str]:
    parts = [words(left - 8, top + 12, shortened(level.label, LABEL), anchor="end")]
    for place, rate in enumerate(level.cells):
        if rate is not None:
            parts.append(_cell(left + wide * place, top, wide, rate))
    if level.believed is not None:
        parts.append(words(WIDTH, top + 12, percent(level.believed), anchor="end"))
    return parts


def _cell(x: float, y: float, wide: float, rate: float) -> str:
    shade = PALEST + (1 - PALEST) * min(1.0, max(0.0, rate))
    return (
        f'<rect x="{x:.2f}" y="{number(y + 1)}" width="{wide + 0.15:.2f}" height="{ROW - 2:.0f}" '
        f'class="heat" fill-opacity="{shade:.2f}"/>'
    )


def _axis(rows: Sequence[Row], left: float, right: float, base: float) -> list[str]:
    first, last = float(rows[0]["step"]), float(rows[-1]["step"])
    span = max(1.0, last - first + 1)
    ticks = named(nice_ticks(first, max(last, first + 1), 6, whole=True))
    places = [(left + (right - left) * (at - first + 0.5) / span, name) for at, name in ticks]
    parts = [words(x, base + 14, name, anchor="middle") for x, name in places if x <= right]
    return [*parts, words((left + right) / 2, base + 29, "training step", anchor="middle")]
