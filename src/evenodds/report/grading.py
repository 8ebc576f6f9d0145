"""The summary of a graded file."""

from __future__ import annotations

from collections.abc import Iterator

from evenodds.bench.grading import Tally
from evenodds.domain import NOT_JUDGED, Status
from evenodds.report.bench import aligned, seconds
from evenodds.report.text import counted, short
from evenodds.statistics import wilson_interval


def summary_lines(tally: Tally, verifier: str, elapsed: float) -> Iterator[str]:
    """Rows by status with intervals, the mean score, the speed, and what to look at."""
    rate = tally.rows / elapsed if elapsed > 0 else 0.0
    yield (
        f"{counted(tally.rows, 'row')}, judged by {verifier} in {seconds(elapsed)} "
        f"({short(rate)} verdicts/s)"
    )
    yield ""
    yield from aligned([("status", "rows", "share", "95 %"), *_rows(tally)])
    mean = tally.score / tally.rows if tally.rows else 0.0
    slowest, number = tally.slowest
    yield f"mean score {mean:.4g} · slowest {seconds(slowest)}, row {number}"
    unjudged = sum(tally.statuses[status] for status in NOT_JUDGED)
    if unjudged:
        yield f"could not be judged: {counted(unjudged, 'row')}. Leave them out of any rate."
    if tally.compared:
        yield f"another status than before: {tally.changed:,} of {counted(tally.compared, 'row')}"
    if tally.moved:
        names = ", ".join(f"{name} → {name}_before" for name in sorted(tally.moved))
        yield f"columns that the rows had already are kept: {names}"


def _rows(tally: Tally) -> Iterator[tuple[str, ...]]:
    for status in Status:
        count = tally.statuses[status]
        if not count and status is not Status.RIGHT:
            continue
        low, high = wilson_interval(count, tally.rows)
        share = 100 * count / tally.rows if tally.rows else 0.0
        yield str(status), f"{count:,}", f"{share:.1f} %", f"{100 * low:.1f}–{100 * high:.1f}"
