"""What a bench found, for a terminal of any width: a table, the faults, and one line of speed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from evenodds.bench import Doubtful, Finding, GoldReport, Report, Row
from evenodds.bench.gold import Misjudged
from evenodds.domain import Status, Stop, as_text
from evenodds.report.text import counted, one_line, short, shortened

HEAD = ("what is tried", "right", "refused", "95 %", "wrong", "paid", "95 %", "policy")
SHOWN = 12
"""Faults of one sort that are listed; `--json` has all."""


def cells(row: Row) -> tuple[str, ...]:
    """The cells of `HEAD`; a dash where nothing of that sort was tried."""
    return (
        row.category,
        _count(row.right),
        f"{row.refused:,}" if row.right else "–",
        _interval(row.refused_interval) if row.right else "–",
        _count(row.wrong),
        f"{row.paid:,}" if row.wrong else "–",
        _interval(row.paid_interval) if row.wrong else "–",
        f"{row.policy_paid:,} of {row.policy:,}" if row.policy else "–",
    )


def _count(count: int) -> str:
    return f"{count:,}" if count else "–"


def _interval(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.1f}–{100 * interval[1]:.1f}"


def table_rows(report: Report) -> list[tuple[str, ...]]:
    """The rows of the table, with the total as the last."""
    return [cells(row) for row in (*report.rows, report.total)]


def padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """All cells of a column as wide as the widest: the first at the left, others at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [
            f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    ]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines, two spaces between cells."""
    return ["  ".join(row).rstrip() for row in padded(rows)]


def speed_line(report: Report) -> str:
    """Cases, verdicts a second, the slowest input, and what could not be judged."""
    parts = [
        f"{counted(len(report.findings), 'case')} in {seconds(report.seconds)}",
        f"{short(report.rate)} verdicts/s",
        counted(report.count(Status.TIMEOUT), "time-out"),
    ]
    if report.count(Status.ERROR):
        parts.append(counted(report.count(Status.ERROR), "error"))
    if report.left_out:
        parts.append(f"{report.left_out:,} left out for time")
    slowest = report.slowest
    if slowest is not None:
        parts.append(f"slowest {seconds(slowest.verdict.seconds)}: {slowest.case.note}")
    return " · ".join(parts)


def error_line(report: Report) -> str | None:
    """How many cases could not be judged, and the reason of the first; None where all could."""
    failed = [found for found in report.findings if found.verdict.status is Status.ERROR]
    if not failed:
        return None
    why, text = one_line(failed[0].verdict.note, 300), failed[0].case.completion.text
    many = f"{len(failed):,} of {counted(len(report.findings), 'case')}"
    return f"could not be judged: {many}; the first, {one_line(text, 40) or '(empty)'}: {why}"


def seconds(value: float) -> str:
    """`0.3 ms`, `12 ms`, `1.24 s`, `2:05 min`."""
    if value < 1:
        return f"{1e3 * value:.2g} ms" if value < 0.01 else f"{1e3 * value:.0f} ms"
    return f"{value:.2f} s" if value < 60 else f"{int(value // 60)}:{int(value % 60):02d} min"


def fault_lines(title: str, faults: Sequence[Finding], width: int) -> Iterator[str]:
    """Each sort of fault once, in two lines: the text that was tried, and what came of it."""
    if not faults:
        return
    sorts: dict[object, list[Finding]] = {}
    for found in faults:
        sorts.setdefault(_sort_of(found), []).append(found)
    yield f"{title}: {len(faults):,}"
    for same in _in_turn([*sorts.values()])[:SHOWN]:
        yield from _fault_lines(same[0], len(same), width)
    if len(sorts) > SHOWN:
        yield f"  … and {counted(len(sorts) - SHOWN, 'other sort')}: --json has all"


def _sort_of(found: Finding) -> object:
    """What faults around different answers have in common: the frame that they stood in."""
    case = found.case
    text = case.completion.text[:400].replace(case.problem.answer, "«»")
    return case.category, case.note, re.sub("[0-9]+", "0", text)


def _in_turn(sorts: Sequence[Sequence[Finding]]) -> list[Sequence[Finding]]:
    """The first sort of each category, then the second of each: a short list shows them all."""
    places: dict[str, int] = {}
    ranked: list[tuple[int, int, Sequence[Finding]]] = []
    for at, same in enumerate(sorts):
        category = same[0].case.category
        ranked.append((places.get(category, 0), at, same))
        places[category] = places.get(category, 0) + 1
    return [same for _, _, same in sorted(ranked, key=lambda row: row[:2])]


def _fault_lines(found: Finding, count: int, width: int) -> Iterator[str]:
    case, verdict = found.case, found.verdict
    tail = "  (cut by the budget here)" if case.completion.stop is Stop.BUDGET else ""
    shown = one_line(case.completion.text, max(20, width - 4 - len(tail))) or "(empty)"
    yield f"  {shown}{tail}"
    many = f" · {count:,} like it" if count > 1 else ""
    gold, said = one_line(case.problem.answer, 40), one_line(verdict.note, 200)
    line = f"{case.category}: {case.note} · gold {gold} · {verdict.status}; {said}{many}"
    yield from wrap(line, max(40, width), initial_indent="      ", subsequent_indent="      ")


def gold_lines(golds: GoldReport, width: int) -> Iterator[str]:
    """How many golds their verifier finds right, and how many changed ones it pays."""
    right = golds.golds - len(golds.bad)
    line = f"golds: {right:,} of {golds.golds:,} are found right"
    if golds.mutants:
        line += f"; {len(golds.paid):,} of {golds.mutants:,} changed ones are paid"
    yield f"{line} · {seconds(golds.seconds)}"
    yield from _bad_lines("a gold that is not found right", golds.bad, width)
    yield from _bad_lines("a changed gold that is paid", golds.paid, width)


def _bad_lines(title: str, bad: Sequence[Misjudged], width: int) -> Iterator[str]:
    for found in bad[:SHOWN]:
        answer = one_line(found.answer, 200) or "(empty)"
        yield shortened(f"  {title}: {answer}", max(40, width))
        prompt = one_line(as_text(found.problem.prompt).strip()[-200:], 80)
        line = one_line(f"{found.verdict.status}; {found.verdict.note}", 300) + f" · {prompt}"
        yield from wrap(line, max(40, width), initial_indent="      ", subsequent_indent="      ")
    if len(bad) > SHOWN:
        yield f"  … and {len(bad) - SHOWN:,} more: --json has all"


def form_lines(forms: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Which forms of the gold a person's own verifier pays."""
    some = {name: f"{name} ({paid} of {tried})" for name, (paid, tried) in forms.items()}
    shown = [name if paid == tried else some[name] for name, (paid, tried) in forms.items() if paid]
    unpaid = [name for name, (paid, _) in forms.items() if not paid]
    if not shown:
        yield "no form of the gold is paid: neither bare nor in any usual frame"
        return
    yield f"forms of the gold that are paid: {', '.join(shown)}"
    if unpaid:
        yield f"forms that are not: {', '.join(unpaid)}"


def doubt_lines(doubts: Sequence[Doubtful], count: int, width: int) -> Iterator[str]:
    """The sampled answers that a person should look at."""
    yield f"\nsampled: {counted(count, 'answer')}, {len(doubts):,} of them doubtful"
    for found in doubts[:SHOWN]:
        yield f"  {one_line(found.rollout.text[-400:], max(20, width - 4))}"
        gold, said = one_line(found.problem.answer, 40), found.verdict.status
        yield shortened(f"      gold {gold} · {said} · {found.why}", max(40, width))
    if len(doubts) > SHOWN:
        yield f"  … and {len(doubts) - SHOWN:,} more: --json has all"
