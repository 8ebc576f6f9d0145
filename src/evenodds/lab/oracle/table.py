"""Rows as a table: for a terminal, for a file, and as Markdown for `docs/oracle.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import isnan
from typing import TextIO

from evenodds.lab.oracle.case import Row

HEADINGS = (
    "objective",
    "policy",
    "θ",
    "G",
    "|aim|",
    "|E ĝ|",
    "angle",
    "E ĝ / aim",
    "std",
    "clipped −/+",
    "documented bias",
    "off by",
    "",
)
SAYS = 10
LEFT = {0, 1, 2, SAYS}
WIDE = 176  # columns, where no terminal says how many there are


def _angle(row: Row) -> str:
    return "—" if isnan(row.angle) or _vanished(row) else f"{row.angle:.1f}°"


def _vanished(row: Row) -> bool:
    return row.length < 1e-9 * row.aim


def _clipped(row: Row) -> str:
    low, high = row.clipped
    return f"{low:.0%}/{high:.0%}" if low or high else ""


def cells(row: Row) -> list[str]:
    """What is shown of a row, under `HEADINGS`."""
    case = row.case
    vanished = _vanished(row)
    return [
        case.name,
        "table" if case.world.name == "tabular" else case.world.name,
        case.world.where,
        "+".join(str(size) for size in case.sizes),
        f"{row.aim:.4f}",
        "0" if vanished else f"{row.length:.4f}",
        _angle(row),
        "0" if vanished else f"{row.ratio:.4f}",
        f"{row.spread:.2f}",
        _clipped(row),
        case.says,
        "0" if row.deviation == 0 else f"{row.deviation:.0e}",
        "ok" if row.is_ok else "FAILS",
    ]


def _sections(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for section, found in groupby(rows, key=lambda row: row.case.section):
        yield section, list(found)


def printed(rows: Sequence[Row], stream: TextIO) -> None:
    """The table with rich; plain where `stream` is no terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_screen = stream.isatty()
    console = Console(file=stream, width=None if is_screen else WIDE, highlight=False)
    table = Table(box=box.SIMPLE_HEAD if is_screen else None, padding=(0, 1), pad_edge=False)
    for at, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if at in LEFT else "right", no_wrap=at != SAYS)
    for section, found in _sections(rows):
        table.add_row()
        table.add_row(Text(section, style="bold"))
        for row in found:
            *shown, verdict = cells(row)
            style = "green" if row.is_ok else "bold red"
            table.add_row(*map(Text, shown), Text(verdict, style=style))
    console.print(table)


def markdown(rows: Sequence[Row]) -> str:
    """One Markdown table a section."""
    lines: list[str] = []
    for section, found in _sections(rows):
        rule = ("---" if at in LEFT else "--:" for at in range(len(HEADINGS)))
        lines += ["", f"### {section}", "", _line(HEADINGS), _line(tuple(rule))]
        lines += [_line(cells(row)) for row in found]
    return "\n".join(lines).strip() + "\n"


def _line(parts: Sequence[str]) -> str:
    escaped = (part.replace("|", "\\|") for part in parts)
    return f"| {' | '.join(escaped)} |"
