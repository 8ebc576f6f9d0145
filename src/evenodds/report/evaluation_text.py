"""An evaluation in a terminal: rates, pass@k and what the answers are like, in 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence

from evenodds.evaluation import Measured, Summary
from evenodds.report.text import counted, one_line
from evenodds.statistics import Estimate

WIDTH = 100
LABEL = 16
Column = tuple[str, str, Callable[[Measured], str]]
"""Its name, how it is set (`<23`: to the left in 23 columns), and what stands in it."""


def table(summary: Summary, first_note: str = "") -> list[str]:
    """Rates with 95 % intervals, pass@k, and what answers are like; then control and canaries.

    first_note: why an answer could not be judged, where one could not.
    """
    rows = [*summary.levels, summary.overall]
    lines = _block("level", rows, _rates(rows))
    if summary.sources:
        lines += ["", *_block("source", summary.sources, _rates(summary.sources))]
    lines += ["", *_curves(summary)]
    answers = [*summary.levels, *summary.sources, summary.overall]
    lines += ["", *_block("answers", answers, _answers(answers))]
    return lines + _unjudged(summary.overall, first_note) + [*_beside(summary)]


def _block(name: str, rows: Sequence[Measured], columns: Sequence[Column]) -> list[str]:
    head = "".join(f" {title:{form}}" for title, form, _ in columns)
    cells = ["".join(f" {cell(row):{form}}" for _, form, cell in columns) for row in rows]
    names = [_label(row.label) for row in rows]
    both = [(_label(name), head), *zip(names, cells, strict=True)]
    return [(name + line).rstrip() for name, line in both]


def _label(text: str) -> str:
    return f"{one_line(text, LABEL):<{LABEL}}"


def _rates(rows: Sequence[Measured]) -> list[Column]:
    """Rates by the verifier, of the likeliest answer where it was drawn, and by the audit."""
    columns: list[Column] = [
        ("n", ">5", lambda row: str(row.problems)),
        ("  pass@1", "<25", lambda row: f"  {row.side.sampled}"),
    ]
    if any(row.side.greedy for row in rows):
        columns.append(("greedy", "<23", lambda row: _estimate(row.side.greedy)))
    if any(row.audit for row in rows):
        columns.append(("by the audit", "<23", lambda row: _estimate(row.audit)))
    return columns


def _answers(rows: Sequence[Measured]) -> list[Column]:
    """What the sampled answers are like. kinds: of work, among right answers to one problem."""
    columns: list[Column] = [
        ("tokens", ">7", lambda row: _number(row.side.length, 1)),
        ("cut", ">6", lambda row: _share(row.side.truncated)),
        ("ended", ">6", lambda row: _share(row.side.ended)),
        ("repeats", ">7", lambda row: _share(row.side.duplicates)),
        ("kinds", ">6", lambda row: _number(row.side.strategies, 2)),
        ("entropy", ">8", lambda row: _number(row.side.entropy, 3)),
    ]
    if any(row.disagree for row in rows):
        columns.append(("  audit differs", "<25", lambda row: f"  {_estimate(row.disagree)}"))
    return columns


def _estimate(value: Estimate | None) -> str:
    return "-" if value is None else str(value)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _curves(summary: Summary) -> Iterator[str]:
    """pass@k a level, and over all; then maj@k over all, where answers have a vote."""
    *inner, largest = summary.ks
    names = "".join(f"{k:>6}" for k in inner)
    yield f"{'pass@k in %, k =':<{LABEL}}{names}  {largest}"
    for row in (*summary.levels, *summary.sources, summary.overall):
        yield _curve(row.label, row.pass_at, summary.ks)
    if summary.overall.maj_at:
        yield _curve("maj@k, all", summary.overall.maj_at, summary.ks)


def _curve(label: str, curve: Mapping[int, Estimate], ks: Sequence[int]) -> str:
    """Each k, the last with its interval; a dash where no problem has k answers."""
    *inner, largest = ks
    found = [curve.get(k) for k in inner]
    cells = "".join(f"{100 * one.mean:>6.1f}" if one else f"{'-':>6}" for one in found)
    return f"{_label(label)}{cells}  {_estimate(curve.get(largest))}"


def _unjudged(overall: Measured, first_note: str) -> list[str]:
    missing = overall.answers - overall.judged
    if not missing:
        return []
    why = f" The first: {one_line(first_note, 200)}" if first_note else ""
    return [
        "",
        f"{missing} of {overall.answers} answers could not be judged and are left out.{why}",
        "Problems with fewer than k judged answers are left out of pass@k.",
    ]


def _beside(summary: Summary) -> Iterator[str]:
    """The control task and the canaries, on lines of their own."""
    control = summary.control
    if control is not None or summary.control_note:
        yield ""
    if control is not None:
        row, name = control.overall, one_line(summary.control_task or "unknown", 30)
        rate = f"{row.side.sampled} over {counted(row.problems, 'problem')}"
        yield f"control task {name}, pass@1 {rate}"
    if summary.control_note:
        head = "" if control is not None else "control task: "
        text = one_line(head + summary.control_note, 3 * WIDTH)
        yield from textwrap.wrap(text, WIDTH, subsequent_indent="  ")
    if summary.canaries is not None:
        asked, paid = summary.canaries
        yield f"canaries: {paid} of {counted(asked, 'answer')} that must not be paid were paid"
