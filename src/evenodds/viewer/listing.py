"""The groups that remain under some filters: a page of them, and the neighbours of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.errors import RunError
from evenodds.records.reader import read_table
from evenodds.report.text import one_line, tail
from evenodds.viewer.data import Source
from evenodds.viewer.filters import Filters, Places, chosen
from evenodds.viewer.search import SLICE
from evenodds.viewer.table import Groups

GLANCE = 0.08  # seconds that the page of one group searches on for its neighbours
TAIL = 160  # characters of a prompt in a list: its end, where the question stands
Spot = tuple[int, int]
"""Step and group."""


@dataclass(frozen=True)
class Listing:
    """Places in `groups` that remain, in order. looked, steps: how far a search has come."""

    groups: Groups
    places: Places
    looked: int = 0
    steps: int = 0

    @property
    def is_whole(self) -> bool:
        return self.looked == self.steps

    def spot(self, place: int) -> Spot:
        return int(self.groups["step"][place]), int(self.groups["group"][place])


def listing(source: Source, filters: Filters, seconds: float = SLICE, near: int = 0) -> Listing:
    """What remains. A search looks for about so many seconds, first at the step nearest `near`."""
    groups = source.groups()
    places = chosen(groups, filters)
    if not filters.q:
        return Listing(groups, places)
    steps = _in_turn(groups["step"][places], near)
    search = source.searches.of(filters.q)
    search.go_on(steps, source.files(), seconds)
    spots = zip(groups["step"][places].tolist(), groups["group"][places].tolist(), strict=True)
    held = np.fromiter((search.has(*spot) for spot in spots), bool, len(places))
    return Listing(groups, places[held], search.looked_at(steps), len(steps))


def _in_turn(steps: Places, near: int) -> list[int]:
    """Each step once, in the order of the list, or outwards from one step."""
    found = list(dict.fromkeys(steps.tolist()))
    return sorted(found, key=lambda step: abs(step - near)) if near else found


@dataclass(frozen=True)
class Neighbours:
    """The groups beside one in a list. at: its place from 1, of count; 0 where the list has it not.

    is_whole: whether a search has looked everywhere, so that count is the last word.
    """

    at: int
    count: int
    before: Spot | None
    after: Spot | None
    is_whole: bool = True


def neighbours(source: Source, filters: Filters, spot: Spot) -> Neighbours:
    """The groups before and after one in the list that these filters make, None at its ends.

    A group that the list does not hold stands between those that lie around it in time.
    """
    return beside(listing(source, filters, GLANCE, near=spot[0]), spot)


def beside(found: Listing, spot: Spot) -> Neighbours:
    """The neighbours of a group in a list that is known already."""
    groups, places = found.groups, found.places
    here = groups.place(*spot)
    at = np.flatnonzero(places == here) if here is not None else np.zeros(0, int)
    if not at.size:
        return Neighbours(0, len(places), *_around(found, spot), found.is_whole)
    place = int(at[0])
    before = found.spot(int(places[place - 1])) if place else None
    after = found.spot(int(places[place + 1])) if place + 1 < len(places) else None
    return Neighbours(place + 1, len(places), before, after, found.is_whole)


def _around(found: Listing, spot: Spot) -> tuple[Spot | None, Spot | None]:
    spots = sorted(found.spot(int(place)) for place in found.places)
    before = [other for other in spots if other < spot]
    after = [other for other in spots if other > spot]
    return (before[-1] if before else None), (after[0] if after else None)


def tails(source: Source, spots: Sequence[Spot]) -> dict[Spot, str]:
    """The end of the prompt of each group, on one line; nothing for a step that is damaged."""
    files, found = source.files(), dict[Spot, str]()
    for step in dict.fromkeys(step for step, _ in spots):
        wanted = {group for at, group in spots if at == step}
        path = files.get(step)
        try:
            table = read_table(path, ("group", "prompt")) if path else None
        except RunError:
            continue
        pairs = zip(table.values("group"), table.values("prompt"), strict=True) if table else ()
        for group, prompt in pairs:
            if group in wanted and (step, group) not in found:
                found[step, group] = tail_of(prompt or "")
    return found


def tail_of(prompt: str) -> str:
    return one_line(tail(prompt.strip(), TAIL))
