"""The list of groups: narrowed, searched, sorted, page by page. All of it stands in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from evenodds.report.text import level_name
from evenodds.viewer.coin import by_coin, outcome_names
from evenodds.viewer.filters import SORTS, Filters, chosen, counted_at_all, filters_of
from evenodds.viewer.group_rows import group_rows
from evenodds.viewer.listing import Listing, listing
from evenodds.viewer.pages import Place, render
from evenodds.viewer.table import KINDS, Groups
from evenodds.viewer.turns import FilterLink, turns

PAGE = 40
CHECKS = (
    ("disagree", "disagreement with the audit"),
    ("truncated", "truncated answers"),
    ("duplicates", "near-duplicates"),
)


def groups_page(place: Place, query: Mapping[str, str]) -> str:
    """The page as text. query: the filters, and `page`, counted from 1."""
    filters = filters_of(query)
    found = written(place, listing(place.source, filters))
    count = len(found.places)
    turn = turns(place, "groups", filters.pairs(), query, count, PAGE)
    shown = found.places[turn.first - 1 : turn.last]
    return render(
        place,
        "groups.html.j2",
        "groups",
        filters=filters,
        coin=by_coin(place.source.record()),
        kinds=_kinds(place, found.groups, filters),
        levels=_levels(place, found.groups),
        checks=[(*c, getattr(filters, c[0]), counted_at_all(found.groups, c[0])) for c in CHECKS],
        sorts=[(name, words) for name, (words, _) in SORTS.items()],
        rows=group_rows(place, found, shown, filters),
        has={name: counted_at_all(found.groups, name) for name, _ in CHECKS},
        found=found,
        count=count,
        total=len(found.groups),
        turns=turn,
        index=place.source.index,
        go_on="" if found.is_whole else turn.here,
    )


def written(place: Place, found: Listing) -> Listing:
    """The groups that have a page: all of them, or those in files beside this one."""
    if place.live:
        return found
    kept = [at for at in found.places.tolist() if place.to(group_address(*found.spot(at)))]
    return replace(found, places=np.array(kept, np.intp))


def group_address(step: int, group: int) -> str:
    return f"group/{step}/{group}"


def _kinds(place: Place, groups: Groups, filters: Filters) -> list[FilterLink]:
    """The four kinds, each with how many there are under the other filters (not the search)."""
    places = chosen(groups, replace(filters, kind="", sort="oldest"))
    counts = np.bincount(groups.kind()[places], minlength=len(KINDS))
    names = outcome_names(by_coin(place.source.record()))
    every = [("", "all", len(places))]
    every += [(kind, names[kind], int(n)) for kind, n in zip(KINDS, counts, strict=True)]
    return [
        FilterLink(words, place.to("groups", filters.pairs(kind=kind)), n, filters.kind == kind)
        for kind, words, n in every
        if n or kind in ("", filters.kind)
    ]


def _levels(place: Place, groups: Groups) -> list[tuple[int, str]]:
    """Levels that were drawn, with their labels."""
    labels = place.source.record().levels
    drawn = [int(level) for level in np.unique(groups["level"]) if level >= 0]
    return [(n, level_name(labels, n)) for n in drawn]
