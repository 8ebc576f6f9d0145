"""Printing a bench: in colour through rich in a terminal, in plain lines elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import TextIO

from evenodds.bench import Checked, Doubtful, Report
from evenodds.report.bench import (
    HEAD,
    aligned,
    doubt_lines,
    error_line,
    fault_lines,
    form_lines,
    gold_lines,
    padded,
    speed_line,
    table_rows,
)
from evenodds.report.inert import steerable

WIDTH = 100  # where no terminal says its own
FAULTS = {2: "yellow", 5: "red bold"}  # columns: refused, paid


def print_bench(stream: TextIO, report: Report) -> None:
    """The table, the speed, and the faults of a bench."""
    width = width_of()
    rows = table_rows(report)
    if is_coloured(stream):
        _coloured_table(stream, rows)
    else:
        _lines(stream, aligned([HEAD, *rows]))
    told = [line for line in (speed_line(report), error_line(report)) if line is not None]
    _lines(stream, [*(part for line in told for part in wrap(line, width, subsequent_indent="  "))])
    _lines(stream, [""])
    _lines(stream, fault_lines("false payments", report.false_payments, width))
    _lines(stream, fault_lines("false refusals", report.false_refusals, width))


def print_text(stream: TextIO, text: str) -> None:
    """A text in lines that fit the terminal."""
    _lines(stream, wrap(text, width_of(), subsequent_indent="  "))


def print_checked(stream: TextIO, checked: Checked) -> None:
    """All that was found about a task, but for the judgement."""
    print_bench(stream, checked.report)
    if checked.forms is not None:
        for line in form_lines(checked.forms):
            print_text(stream, line)
    if checked.golds is not None:
        _lines(stream, gold_lines(checked.golds, width_of()))


def print_judgement(stream: TextIO, faults: Sequence[str]) -> None:
    """The last line: fit, or why not."""
    line = f"NOT FIT: {'; '.join(faults)}." if faults else "fit: no wrong answer was paid."
    if not is_coloured(stream):
        _lines(stream, wrap(line, width_of()))
        return
    from rich.console import Console

    style = "bold red" if faults else "bold green"
    Console(file=steerable(stream), width=width_of(), highlight=False).print(
        line, style=style, markup=False
    )


def print_doubts(stream: TextIO, doubts: Sequence[Doubtful], count: int) -> None:
    _lines(stream, doubt_lines(doubts, count, width_of()))


def width_of() -> int:
    return get_terminal_size(fallback=(WIDTH, 24)).columns


def is_coloured(stream: TextIO) -> bool:
    """Whether the stream is a terminal that wants colour."""
    is_dumb = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not is_dumb


def _lines(stream: TextIO, lines: Iterable[str]) -> None:
    for line in lines:
        stream.write(line + "\n")


def _coloured_table(stream: TextIO, rows: Sequence[Sequence[str]]) -> None:
    """The same table, its faults in colour; rich knows what the terminal can show."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=steerable(stream), width=max(width_of(), 200), highlight=False)
    cells = padded([HEAD, *rows])
    for number, row in enumerate(cells):
        is_edge = number in (0, len(cells) - 1)
        parts = [(cell, _style(at, cell.strip(), is_edge)) for at, cell in enumerate(row)]
        joined = Text("  ").join(Text(cell, style) for cell, style in parts)
        joined.rstrip()
        console.print(joined, soft_wrap=True)


def _style(column: int, cell: str, is_edge: bool) -> str:
    bold = "bold " if is_edge else ""
    if column not in FAULTS or not cell.replace(",", "").isdecimal():
        return bold.strip()
    return f"{bold}{'green' if cell == '0' else FAULTS[column]}"
