"""All rows, in two sizes: the whole oracle, and a reduced one of about a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evenodds.errors import unknown
from evenodds.lab.oracle import axes, penalties
from evenodds.lab.oracle.axes import Place
from evenodds.lab.oracle.case import Case
from evenodds.lab.oracle.forms import FORMS, recipe_cases
from evenodds.lab.oracle.world import Kind, make_world


def _on_axes(place: Place, four: Place, pairs: Place) -> Iterator[Case]:
    """four: another size of groups. pairs: two groups a batch, which takes the square of time."""
    yield from axes.credits(four)
    yield from axes.reductions(four)
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


def full_cases() -> Iterator[Case]:
    """Every recipe on a table and on a GRU, on- and off-policy, then every axis on the table."""
    table, net = _place("tabular", 2, 3, 3), _place("GRU", 2, 3, 2)
    small = _place("tabular", 2, 2, 4)
    yield from recipe_cases(
        [(where, p.size) for p in (table, net) for where in (p.on, p.off)],
    )
    yield from _on_axes(table, small, replace(small, size=3))


def quick_cases() -> Iterator[Case]:
    """The same claims with one letter: four answers, twenty groups of three."""
    place = _place("tabular", 1, 3, 3)
    yield from recipe_cases([(place.on, place.size), (place.off, place.size)])
    yield from _on_axes(place, place, replace(place, size=2))


def cases(recipe: str | None = None, quick: bool = False) -> Iterator[Case]:
    """The rows; of one recipe only where it is named. Raises `UsageError` for an unknown name."""
    if recipe is not None and recipe not in FORMS:
        raise unknown("objective", recipe, FORMS)
    for case in quick_cases() if quick else full_cases():
        if recipe in (None, case.recipe):
            yield case
