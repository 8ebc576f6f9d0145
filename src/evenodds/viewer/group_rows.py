"""Groups as lines of a list, with a link to each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evenodds.report.text import level_name, one_line, short
from evenodds.viewer.coin import COLOURS, by_coin, outcome_names
from evenodds.viewer.filters import Filters
from evenodds.viewer.listing import Listing, tails
from evenodds.viewer.pages import Place
from evenodds.viewer.table import KINDS, UNKNOWN


@dataclass(frozen=True)
class GroupRow:
    """One group, safe to show. kind: one of `KINDS`, as a style sheet names it; counts are empty
    where they were not taken. right: or paid, where a coin pays."""

    step: int
    group: int
    href: str
    level: str
    problem: str
    kind: str
    outcome: str
    right: str
    share: float | None
    reward: str
    tokens: str
    truncated: str
    duplicates: str
    disagree: str


def group_rows(
    place: Place, found: Listing, places: Iterable[Any], filters: Filters
) -> list[GroupRow]:
    """The groups at these places of a listing; the links keep its filters."""
    kept = [int(at) for at in places]
    prompts = tails(place.source, [found.spot(at) for at in kept])
    kinds, rates = found.groups.kind(), found.groups.rate()
    run = place.source.record()
    levels, coin = run.levels, by_coin(run)
    names, colours = outcome_names(coin), COLOURS if coin else {}
    rows: list[GroupRow] = []
    for at in kept:
        spot = found.spot(at)
        entry = {name: values[at] for name, values in found.groups.columns.items()}
        level, kind = int(entry["level"]), KINDS[int(kinds[at])]
        rows.append(
            GroupRow(
                *spot,
                href=place.to(f"group/{spot[0]}/{spot[1]}", filters.pairs()),
                level=one_line(level_name(levels, level), 40),
                problem=prompts.get(spot) or one_line(str(entry["key"]), 160),
                kind=colours.get(kind, kind),
                outcome=names[kind],
                right=f"{entry['right']} of {entry['judged']}",
                share=None if rates[at] != rates[at] else float(rates[at]),
                reward=short(float(entry["reward"])),
                tokens=_mean(entry["tokens"], entry["size"]),
                truncated=_count(entry["truncated"]),
                duplicates=_count(entry["duplicates"]),
                disagree=_count(entry["disagree"]),
            )
        )
    return rows


def _count(value: Any) -> str:
    return "" if value == UNKNOWN else f"{value}"


def _mean(total: Any, count: Any) -> str:
    return "" if total == UNKNOWN or count <= 0 else short(float(total) / float(count))
