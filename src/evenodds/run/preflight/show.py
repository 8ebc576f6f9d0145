"""Findings as a person reads them in a terminal: worst first, at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from evenodds.report.text import one_line
from evenodds.run.preflight.finding import BAD, Finding, Level

WIDTH = 80
ORDER: tuple[Level, ...] = ("fatal", "warning", "skipped", "fine")
SIGNS: dict[Level, str] = {"fatal": "✗", "warning": "!", "skipped": "–", "fine": "✓"}


def told(finding: Finding) -> str:
    """A finding in one line, as `train` tells a warning."""
    return one_line(finding.sentence, 400)


def lines(findings: Sequence[Finding], ignored: Sequence[str] = ()) -> Iterator[str]:
    """All findings, and how many there are of each level."""
    ordered = sorted(findings, key=lambda finding: ORDER.index(finding.level))
    yield from (line for f in ordered if f.level in BAD for line in _bad(f, f.name in ignored))
    good = [line for f in ordered if f.level not in BAD for line in _good(f)]
    yield from ["", *good] if good else []
    yield ""
    yield _counts(findings)


def _bad(finding: Finding, is_ignored: bool) -> Iterator[str]:
    """A name, and what, why and what to do below it."""
    yield ""
    level = f"{finding.level}, ignored" if is_ignored else finding.level
    yield f"{SIGNS[finding.level]} {finding.name} ({level})"
    yield from _wrapped("    ", finding.what, 4)
    if finding.why:
        yield from _wrapped("    why: ", finding.why, 9)
    if finding.change:
        yield from _wrapped("    do:  ", finding.change, 9)


def _good(finding: Finding) -> list[str]:
    return _wrapped(f"{SIGNS[finding.level]} {finding.name}: ", finding.what, 4)


def _wrapped(head: str, text: str, indent: int) -> list[str]:
    return wrap(
        head + one_line(text),
        WIDTH,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,  # or a flag would be cut in two
    )


def _counts(findings: Sequence[Finding]) -> str:
    counts = {level: sum(f.level == level for f in findings) for level in ORDER}
    names = {"warning": "warnings" if counts["warning"] != 1 else "warning"}
    parts = [f"{n} {names.get(level, level)}" for level, n in counts.items() if n]
    return ", ".join(parts) or "nothing was checked"
