"""Damaged files of a run are told of before it goes on, or undone by steps that are taken again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import damage
from tests.faults.drawn import drawn


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> damage.Ground:
    return damage.ground(Path(tmp_path_factory.mktemp("damage")))


def test_every_damage_is_told_of_or_undone(place, budget) -> None:
    """A thousand: python -m benchmarks.durability --only R6."""
    found = [damage.try_one(place, number, 0) for number in drawn(range(1000), budget / 2)]
    known = [one for one in found if one is not None]
    assert known and damage.amiss(known) == []


def test_the_command_says_so_or_comes_to_the_same_end(place, budget) -> None:
    for number in drawn(range(2000, 3000), budget / 2):
        found = damage.try_as_command(place, number, 0)
        assert found is None or found[1] in ("told", "undone"), found


def test_an_undamaged_run_has_nothing_said_of_it(place) -> None:
    for run in place.runs:
        said, newest = damage.said_of(run)
        assert said == [] and newest is not None
