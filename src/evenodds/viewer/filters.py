"""Which groups a list shows and in which order: all of it stands in the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from evenodds.viewer.table import KINDS, UNKNOWN, Groups

Places = NDArray[np.intp]
MOST_TEXT = 200  # characters that can be searched for
SORTS: dict[str, tuple[str, Callable[[Groups], NDArray[Any]] | None]] = {
    "newest": ("newest first", lambda groups: -groups["step"]),
    "oldest": ("oldest first", None),
    "hardest": ("fewest right", lambda groups: groups.rate()),
    "easiest": ("most right", lambda groups: -groups.rate()),
    "longest": ("most tokens", lambda groups: -groups["tokens"]),
    "shortest": ("fewest tokens", lambda groups: groups["tokens"]),
    "disagree": ("most disagreement", lambda groups: -groups["disagree"]),
    "duplicates": ("most duplicates", lambda groups: -groups["duplicates"]),
    "truncated": ("most truncated", lambda groups: -groups["truncated"]),
}
"""Name in the address -> name on the page, and what is sorted by, smallest first."""


@dataclass(frozen=True)
class Filters:
    """What a list is narrowed to. Empty values narrow nothing.

    kind: one of `KINDS`. disagree, truncated, duplicates: only groups with at least one such
    answer. first, last: steps, both included. q: a text in prompt or answers, in any case.
    """

    level: int | None = None
    kind: str = ""
    disagree: bool = False
    truncated: bool = False
    duplicates: bool = False
    first: int | None = None
    last: int | None = None
    q: str = ""
    sort: str = "newest"

    def pairs(self, **changes: Any) -> dict[str, str]:
        """What stands in an address, with these changes; what narrows nothing is left out."""
        kept = replace(self, **changes)
        found = {name: getattr(kept, name) for name in NAMES}
        said = {name: value for name, value in found.items() if value != getattr(PLAIN, name)}
        return {name: "1" if value is True else str(value) for name, value in said.items()}

    def query(self, **changes: Any) -> str:
        """`pairs` as the part of an address behind its `?`."""
        return urlencode(self.pairs(**changes))


PLAIN = Filters()
NAMES = tuple(field.name for field in fields(Filters))


def filters_of(query: Mapping[str, str]) -> Filters:
    """What an address asks for; what makes no sense narrows nothing."""
    kind, sort = query.get("kind", ""), query.get("sort", "")
    return Filters(
        level=whole(query.get("level")),
        kind=kind if kind in KINDS else "",
        disagree=query.get("disagree") == "1",
        truncated=query.get("truncated") == "1",
        duplicates=query.get("duplicates") == "1",
        first=whole(query.get("first")),
        last=whole(query.get("last")),
        q=query.get("q", "").strip()[:MOST_TEXT],
        sort=sort if sort in SORTS else PLAIN.sort,
    )


def whole(text: str | None) -> int | None:
    """A number that is not negative and fits 32 bits, None for anything else."""
    if not text or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return int(text)


def chosen(groups: Groups, filters: Filters) -> Places:
    """The places of the groups that remain, in the order asked for; `q` is not looked at."""
    keep = np.ones(len(groups), bool)
    if filters.level is not None:
        keep &= groups["level"] == filters.level
    if filters.kind:
        keep &= groups.kind() == KINDS.index(filters.kind)
    for name in ("disagree", "truncated", "duplicates"):
        if getattr(filters, name):
            keep &= groups[name] > 0
    if filters.first is not None:
        keep &= groups["step"] >= filters.first
    if filters.last is not None:
        keep &= groups["step"] <= filters.last
    places = np.flatnonzero(keep)
    by = SORTS[filters.sort][1]
    if by is None:
        return places
    return places[np.argsort(by(groups)[places], kind="stable")]


def counted_at_all(groups: Groups, name: str) -> bool:
    """Whether anything was counted under that name: an old run has no audit, say."""
    return bool((groups[name] != UNKNOWN).any())
