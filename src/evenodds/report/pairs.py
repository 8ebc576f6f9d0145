"""The same problems of two evaluations side by side, and shares of them before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evenodds.evaluation import Record, finite, judged_by_key, levels_of
from evenodds.report.series import is_number
from evenodds.statistics import Estimate, clustered_rate, paired_difference


@dataclass(frozen=True)
class Pair:
    """One problem that both evaluations judged. samples: the answers drawn, judged or not."""

    level: int
    before: Record
    after: Record


@dataclass(frozen=True)
class Change:
    """A share before and after, each over problems, and the difference paired by problem."""

    before: Estimate
    after: Estimate
    gain: Estimate
    problems: int

    def to_dict(self) -> dict[str, Any]:
        return finite(asdict(self))


def pairs_of(base: Record, final: Record) -> list[Pair]:
    """Problems with a judged answer in both, matched by level and key, in the base's order."""
    before, after = levels_of(base), levels_of(final)
    found: list[Pair] = []
    for level in before:
        first, later = _problems(before[level]), _problems(after.get(level, {}))
        found += [Pair(level, row, later[key]) for key, row in first.items() if key in later]
    return found


def asked_of(base: Record, final: Record) -> list[Pair]:
    """Problems that both evaluations asked, judged or not: a mean over those that were judged
    alone says nothing of the others. In each, `unjudged` counts the answers that were not."""
    before, after = levels_of(base), levels_of(final)
    found: list[Pair] = []
    for level in before:
        first, later = _asked(before[level]), _asked(after.get(level, {}))
        found += [Pair(level, row, later[key]) for key, row in first.items() if key in later]
    return found


def _asked(level: Record) -> dict[str, Record]:
    """The problems of a level by key, without those of which nobody knows how often."""
    found: dict[str, Record] = {}
    for row in level.get("problems", []):
        tries = row.get("tries") or 0
        drawn = max(level.get("samples") or 0, row.get("samples") or 0, tries)
        if drawn:
            count = {"samples": drawn, "unjudged": drawn - tries, "right": row.get("right") or 0}
            found[str(row["key"])] = {**row, **count}
    return found


def _problems(level: Record) -> dict[str, Record]:
    """The judged problems of a level, each with the number of answers that were drawn."""
    drawn = level.get("samples")
    rows = judged_by_key(level).items()
    return {key: {"samples": drawn or row["tries"], **row} for key, row in rows}


def change_of(
    pairs: Sequence[Pair], count: str, of: str = "tries", confidence: float = 0.95
) -> Change | None:
    """How the share `count` / `of` changed; None where no problem has both on both sides."""
    kept = [
        pair
        for pair in pairs
        if has_share(pair.before, count, of) and has_share(pair.after, count, of)
    ]
    if not kept:
        return None
    sides = [[_counts(getattr(pair, side), count, of) for pair in kept] for side in SIDES]
    (first, first_of), (second, second_of) = (np.array(side, np.float64).T for side in sides)
    return Change(
        before=clustered_rate(first, first_of, confidence),
        after=clustered_rate(second, second_of, confidence),
        gain=paired_difference(first / first_of, second / second_of, confidence),
        problems=len(kept),
    )


SIDES = ("before", "after")


def has_share(problem: Mapping[str, Any], count: str, of: str) -> bool:
    """Whether a problem's record has these two counts, and they make a share."""
    known, total = problem.get(count), problem.get(of)
    return is_number(known) and is_number(total) and 0 <= known <= total and total > 0


def _counts(problem: Mapping[str, Any], count: str, of: str) -> tuple[float, float]:
    return float(problem[count]), float(problem[of])
