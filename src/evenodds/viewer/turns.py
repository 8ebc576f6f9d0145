"""Long lists page by page, and the links that narrow them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenodds.viewer.filters import whole
from evenodds.viewer.pages import Place


@dataclass(frozen=True)
class FilterLink:
    """A link that changes one filter of a list. count: entries that it would show."""

    name: str
    href: str
    count: int
    is_chosen: bool


@dataclass(frozen=True)
class Turns:
    """One page of a list. first and last: the entries on it, from 1. before, after: addresses of
    the pages beside it, empty at the ends; here: its own."""

    page: int
    pages: int
    first: int
    last: int
    before: str
    after: str
    here: str


def turns(
    place: Place,
    name: str,
    pairs: Mapping[str, str],
    query: Mapping[str, str],
    count: int,
    size: int,
) -> Turns:
    """The page that `query` asks for, or the nearest that there is, of a list of `count` entries.

    name: of the page; pairs: what its address keeps beside the number. A page in a file holds all.
    """
    size = size if place.live else max(1, count)
    pages = max(1, -(-count // size))
    page = min(max(1, whole(query.get("page")) or 1), pages)

    def to(number: int) -> str:
        if not 1 <= number <= pages:
            return ""
        return place.to(name, {**pairs, **({} if number == 1 else {"page": str(number)})})

    first, last = (page - 1) * size + 1, min(count, page * size)
    return Turns(page, pages, first, last, to(page - 1), to(page + 1), to(page))
