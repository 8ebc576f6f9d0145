"""Where a run changed something: levels, sources, and single problems."""

from __future__ import annotations

from evenodds.report.comparison import Comparison
from evenodds.report.conclusion import Evidence
from evenodds.report.findings import Findings
from evenodds.report.shown import Turned, gained_of, lost_of
from evenodds.report.story import by_level, problems_sentence
from evenodds.report.text import p_words


def sentence(comparison: Comparison, found: Evidence) -> str:
    """Which levels changed, and which of that stands when all levels are looked at together."""
    said = by_level(comparison)
    if found.levels < 2 or not said:
        return said or "All problems are of one level."
    return f"{said} These verdicts know that {found.levels} levels are looked at together."


def coverage(comparison: Comparison) -> str:
    """Problems gained and lost, and whether one outweighs the other beyond chance."""
    found = comparison.coverage
    return (
        f"{problems_sentence(comparison)} Gained less lost: {found.net.points()} "
        f"(McNemar's test: {p_words(found.p)})."
    )


def turned_lists(found: Findings) -> list[tuple[str, list[Turned]]]:
    """Some problems lost and some gained, each list with its title; the losses first."""
    run, coverage = found.run, found.run.comparison and found.run.comparison.coverage
    if not coverage:
        return []
    lost, gained = lost_of(run, found.pairs), gained_of(run, found.pairs)
    how = "those solved most often first"
    return [
        (f"{len(lost)} of the {coverage.lost} problems lost, {how}", lost),
        (f"{len(gained)} of the {coverage.gained} problems gained, {how}", gained),
    ]
