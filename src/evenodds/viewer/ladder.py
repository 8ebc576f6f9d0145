"""The ladder as a strip: how much of each level was right step by step, and what is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from evenodds.report.text import level_name, shortened
from evenodds.statistics import percent

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
    """Every level that was drawn or is believed in, the hardest first."""
    bins = [_rates(part) for part in _bins(run.metrics)]
    drawn = {level for part in bins for level in part}
    every = sorted({*range(len(run.levels)), *drawn}, reverse=True)
    found = [
        Level(
            level,
            label := level_name(run.levels, level),
            tuple(part[level][0] if level in part else None for part in bins),
            sum(part[level][1] for part in bins if level in part),
            _believed(run.metrics, label),
        )
        for level in every
    ]
    return [level for level in found if level.groups or level.believed is not None]


def _bins(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """The steps in at most `COLUMNS` stretches of one length."""
    size = max(1, math.ceil(len(rows) / COLUMNS))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _rates(rows: Sequence[Row]) -> dict[int, tuple[float, int]]:
    """Solve rate of each level over some steps, each group counting alike, and the groups."""
    sums: dict[int, tuple[float, int]] = {}
    for row in rows:
        for name, groups in row.items():
            if name.startswith("level/") and name.endswith("/groups") and name[6:-7].isdecimal():
                rate = row.get(f"{name[:-6]}solve_rate")
                if is_number(groups) and groups > 0 and is_number(rate):
                    total, count = sums.get(int(name[6:-7]), (0.0, 0))
                    sums[int(name[6:-7])] = (total + groups * rate, count + int(groups))
    return {level: (total / count, count) for level, (total, count) in sums.items() if count}


def _believed(rows: Sequence[Row], label: str) -> float | None:
    value = rows[-1].get(f"posterior/{label}") if rows else None
    return float(value) if is_number(value) else None


def ladder_picture(run: RunRecord, levels: Sequence[Level]) -> str:
    """The strip as SVG: the stronger the colour of a cell, the more was right."""
    title = "The ladder: solve rate of each level over the steps"
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
