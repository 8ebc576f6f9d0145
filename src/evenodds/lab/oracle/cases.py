"""All rows, in two sizes: the whole oracle, and a reduced one of about a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evenodds.errors import unknown
from evenodds.lab.oracle import axes, penalties
from evenodds.lab.oracle.axes import Place
from evenodds.lab.oracle.case import Case
from evenodds.lab.oracle.forms import FORMS, FOUR, Spot, recipe_cases
from evenodds.lab.oracle.world import Kind, make_world


def _on_axes(place: Place, four: Place, small: Place, pairs: Place) -> Iterator[Case]:
    """four: groups of four. small: fewer groups. pairs: two a batch, which takes time squared."""
    yield from axes.credits(four)
    yield from axes.reductions(small)
    yield from axes.surrogates(place)
    yield from axes.batches(pairs)
    yield from axes.truncation(place)
    yield from penalties.kl_alone(place)
    yield from penalties.kl_with_rewards(place)
    yield from penalties.entropies(place)
    yield from penalties.corrections(place)


def _place(kind: Kind, letters: int, budget: int, size: int) -> Place:
    on, off = (make_world(kind, letters, budget, where) for where in ("on", "off"))
    return Place(on, off, size)


def _spots(*places: Place) -> list[Spot]:
    return [(world, place.size) for place in places for world in (place.on, place.off)]


def full_cases() -> Iterator[Case]:
    """Every recipe on a table and on a GRU, on- and off-policy, then every axis on the table."""
    table, net = _place("tabular", 2, 3, 3), _place("GRU", 2, 3, 2)
    small, small_net = _place("tabular", 2, 2, FOUR), _place("GRU", 2, 2, FOUR)
    of_std = [(table.on, FOUR), (small.off, FOUR), *_spots(small_net)]  # off, all would take twice
    yield from recipe_cases(_spots(table, net), of_std)
    yield from _on_axes(table, small, small, replace(small, size=3))


def quick_cases() -> Iterator[Case]:
    """The same claims with one letter: four answers, twenty groups of three, 35 of four."""
    place = _place("tabular", 1, 3, 3)
    four, pairs = replace(place, size=FOUR), _place("tabular", 1, 2, 2)
    yield from recipe_cases(_spots(place), _spots(four))
    yield from _on_axes(place, four, place, pairs)


def cases(recipe: str | None = None, quick: bool = False) -> Iterator[Case]:
    """The rows; of one recipe only where it is named. Raises `UsageError` for an unknown name."""
    if recipe is not None and recipe not in FORMS:
        raise unknown("objective", recipe, FORMS)
    for case in quick_cases() if quick else full_cases():
        if recipe in (None, case.recipe):
            yield case
