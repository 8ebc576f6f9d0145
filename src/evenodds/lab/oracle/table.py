"""Rows as a table: for a terminal, for a file, and as Markdown for `docs/oracle.md`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING, Literal, TextIO

from evenodds.lab.oracle.case import NO_FORM, Row
from evenodds.report.inert import steerable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

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
LENGTHS = (4, 5)
STYLES = {"ok": "green", NO_FORM: "dim", "FAILS": "bold red"}
WIDE = 1000  # columns, where nothing says how many there are; a table takes what it needs


def _angle(row: Row) -> str:
    return "—" if isnan(row.angle) or row.vanished else f"{row.angle:.1f}°"


def _deviation(row: Row) -> str:
    if row.case.own is not None:
        return NO_FORM
    return "0" if row.deviation == 0 else f"{row.deviation:.0e}"


def _clipped(row: Row) -> str:
    low, high = row.clipped
    return f"{low:.0%}/{high:.0%}" if low or high else ""


def cells(row: Row) -> list[str]:
    """What is shown of a row, under `HEADINGS`."""
    case = row.case
    vanished = row.vanished
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
        _deviation(row),
        row.verdict,
    ]


def _sections(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for section, found in groupby(rows, key=lambda row: row.case.section):
        yield section, list(found)


def printed(rows: Sequence[Row], stream: TextIO) -> None:
    """The table with rich; plain where `stream` is no terminal, and then as wide as it takes.

    In a terminal too narrow for it, or where COLUMNS says so, lengths are left out, and the bias
    stands under the objective.
    """
    from rich.console import Console

    if stream.isatty():
        _print(rows, Console(file=steerable(stream), highlight=False), is_screen=True)
        return
    text = StringIO()
    _print(rows, Console(file=text, width=_columns(), highlight=False), is_screen=False)
    stream.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def _columns() -> int:
    """Of what is no terminal."""
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) > 0 else WIDE


def _print(rows: Sequence[Row], console: Console, is_screen: bool) -> None:
    from rich.measure import Measurement

    table = _table(rows, is_screen)
    needed = Measurement.get(console, console.options.update(width=WIDE), table).minimum
    if needed <= console.width:
        console.print(table)
        return
    console.print(_narrow(rows))
    left_out = " and ".join(HEADINGS[at] for at in LENGTHS)
    console.print(
        f"\nleft out: {left_out}; {needed} columns, or --markdown FILE, have them", style="dim"
    )


def _table(rows: Sequence[Row], is_screen: bool) -> Table:
    """All columns; the bias may wrap."""
    from rich import box
    from rich.table import Table

    lines = box.SIMPLE_HEAD if is_screen else None
    table = Table(box=lines, padding=(0, 1), pad_edge=False, collapse_padding=is_screen)
    for at, heading in enumerate(HEADINGS):
        side, least = _side(at), 30 if at == SAYS else None
        table.add_column(heading, justify=side, min_width=least, no_wrap=at != SAYS)
    for section, found in _sections(rows):
        table.add_row()
        table.add_row(_bold(section))
        for row in found:
            table.add_row(*_texts(row))
    return table


def _narrow(rows: Sequence[Row]) -> Table:
    """Without `LENGTHS`, and with the bias under the objective."""
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table

    shown = [at for at in range(1, len(HEADINGS)) if at not in (*LENGTHS, SAYS)]
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column(HEADINGS[0])
    for at in shown:
        stacked = "\n".join(HEADINGS[at].rsplit(" ", 1))
        table.add_column(stacked, justify=_side(at), no_wrap=True)
    for section, found in _sections(rows):
        table.add_row()
        table.add_row(_bold(section))
        for row in found:
            parts = _texts(row)
            says = Padding(parts[SAYS], (0, 0, 0, 2), style="dim")
            table.add_row(Group(parts[0], says), *(parts[at] for at in shown))
    return table


def _side(at: int) -> Literal["left", "right"]:
    return "left" if at in LEFT else "right"


def _bold(section: str) -> Text:
    from rich.text import Text

    return Text(section, style="bold")


def _texts(row: Row) -> list[Text]:
    """The cells, which may hold brackets that rich must not read as markup."""
    from rich.text import Text

    *others, verdict = cells(row)
    return [*map(Text, others), Text(verdict, style=STYLES[row.verdict])]


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
