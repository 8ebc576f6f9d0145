"""The first page of a run: how far it is, what it shows so far, and where to look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenodds.report.facts import facts
from evenodds.report.series import is_number
from evenodds.report.signs import Raised, raised
from evenodds.report.text import short
from evenodds.statistics import percent
from evenodds.viewer.coin import by_coin
from evenodds.viewer.data import Row, Source
from evenodds.viewer.filters import Filters
from evenodds.viewer.group_rows import GroupRow, group_rows
from evenodds.viewer.listing import Listing
from evenodds.viewer.pages import Place, on_one_line, picture_values, render, shown_record
from evenodds.viewer.state import time_words

LATEST = 8  # groups on the first page
TILES = (
    ("reward", "Reward", "number"),
    ("solve_rate", "Solve rate", "percent"),
    ("difficulty", "Difficulty", "number"),
    ("groups/mixed", "Mixed groups", "percent"),
    ("entropy", "Entropy, nats", "number"),
    ("completions/mean_length", "Tokens an answer", "number"),
    ("kl", "KL to the start", "number"),
    ("time/step", "Seconds a step", "number"),
)


@dataclass(frozen=True)
class Tile:
    """A number of the last steps, beside that of the first ones."""

    name: str
    now: str
    first: str


def overview_page(place: Place) -> str:
    """The page as text."""
    source = place.source
    run = source.record()
    pictures = [picture_values(picture) for picture in source.pictures()]
    rows, learned = latest(place), source.learned()
    return render(
        place,
        "overview.html.j2",
        "run",
        state=source.state(),
        coin=by_coin(run),
        is_measured=run.final is not None,
        time=time_words(source.state()),
        tiles=tiles(run.metrics, by_coin(run)),
        alarms=newest_alarms(source),
        learned=learned,
        rows=learned.comparison.rows if learned.comparison else [],
        pictures=pictures,
        latest=rows,
        facts=facts(shown_record(place)),
        damaged=source.damaged,
        index=source.index,
    )


def tiles(rows: Sequence[Row], coin: bool = False) -> list[Tile]:
    """Means of the last ten steps and of the first ten; what was never measured is left out."""
    found: list[Tile] = []
    for key, name, kind in TILES:
        values = [float(row[key]) for row in rows if is_number(row.get(key))]
        if values:
            show = short if kind == "number" else percent
            first, last = values[:10], values[-10:]
            shown = [on_one_line(show(sum(part) / len(part))) for part in (last, first)]
            called = "Share paid" if coin and key == "solve_rate" else name
            found.append(Tile(called, *shown))
    return found


def newest_alarms(source: Source) -> list[Raised]:
    """What alarms.jsonl says so far, the newest first."""
    return [raised(row) for row in reversed(source.alarms())]


def latest(place: Place) -> list[GroupRow]:
    """The groups of the newest step, the mixed ones first: they are what it learned from."""
    groups = place.source.groups()
    if not len(groups):
        return []
    newest = int(groups["step"].max())
    places = (groups["step"] == newest).nonzero()[0]
    order = groups.kind()[places].argsort(kind="stable")
    kept = Listing(groups, places[order][:LATEST])
    return group_rows(place, kept, kept.places, Filters())
