"""One group on one screen."""

from __future__ import annotations

from collections.abc import Mapping

from evenodds.viewer.pages import Place, render


def group_page(place: Place, step: int, group: int, query: Mapping[str, str]) -> str | None:
    """The page of a group; None where there is no such group. query: the rest of the address."""
    rows = place.source.group(step, group)
    if not rows:
        return None
    return render(place, "group.html.j2", "groups", step=step, group=group, rows=rows, query=query)
