"""What remains of the groups, what lies beside one, and search in slices."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenodds.viewer import listing as module
from evenodds.viewer.data import Source
from evenodds.viewer.filters import Filters
from evenodds.viewer.listing import listing, neighbours, tail_of, tails
from evenodds.viewer.search import REMEMBERED, Searches, groups_with
from tests.viewer.folder import GROUPS, STEPS, plain, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "mine")


@pytest.fixture
def source(run) -> Source:
    return Source(run)


def spots(source: Source, filters: Filters) -> list:
    found = listing(source, filters)
    return [found.spot(int(place)) for place in found.places]


def test_the_groups_of_a_list_know_their_neighbours(source) -> None:
    filters = Filters(kind="mixed", sort="oldest")
    order = spots(source, filters)
    assert len(order) > 4
    for at, spot in enumerate(order):
        found = neighbours(source, filters, spot)
        assert (found.at, found.count) == (at + 1, len(order))
        assert found.before == (order[at - 1] if at else None)
        assert found.after == (order[at + 1] if at + 1 < len(order) else None)


def test_a_group_outside_of_the_list_stands_between_those_around_it(source) -> None:
    wrong = spots(source, Filters(kind="wrong", sort="oldest"))
    mixed = spots(source, Filters(kind="mixed", sort="oldest"))
    found = neighbours(source, Filters(kind="mixed"), wrong[1])
    assert found.at == 0
    assert found.before == max(spot for spot in mixed if spot < wrong[1])
    assert found.after == min(spot for spot in mixed if spot > wrong[1])
    assert neighbours(source, Filters(kind="mixed"), (99, 0)).after is None


def test_a_search_looks_in_slices_and_remembers(source, monkeypatch) -> None:
    filters = Filters(q="17*6", sort="oldest")
    assert listing(source, filters, seconds=-1).looked == 0
    clock = iter(range(1000))
    monkeypatch.setattr("evenodds.viewer.search.time.monotonic", lambda: next(clock))
    first = listing(source, filters, seconds=1.5)
    assert (first.looked, first.steps, first.is_whole) == (1, STEPS, False)
    assert {first.spot(int(place))[0] for place in first.places} == {1}
    second = listing(source, filters, seconds=50)
    assert second.is_whole
    assert len(second.places) == STEPS * GROUPS


def test_a_search_begins_where_one_stands(source, monkeypatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("evenodds.viewer.search.time.monotonic", lambda: next(clock))
    filters = Filters(q="102", sort="oldest")
    found = listing(source, filters, seconds=1.5, near=STEPS)
    assert {found.spot(int(place))[0] for place in found.places} == {STEPS}


def test_search_finds_prompts_answers_golds_and_keys_in_any_case(tmp_path) -> None:
    def say(name: str) -> str:
        return {"completion": "Grüße UND x", "extracted": "a.*b"}.get(name, plain(name))

    run = write_run(tmp_path / "mine", say)
    path = run / "rollouts" / "step-00001.parquet"
    every = frozenset(range(GROUPS))
    for text in ("grüße und", "GRÜSSE"[:3], "A.*B", "3*4=\n12", "102", "6*17"):
        assert groups_with(text, path) == every, text
    for text in ("a.b", "axb", "[", "(", "\\", "nowhere", "\x00"):
        assert groups_with(text, path) == frozenset(), text
    path.write_bytes(b"PAR1")
    assert groups_with("102", path) == frozenset()
    assert groups_with("102", None) == frozenset()


def test_only_the_last_few_searches_are_remembered() -> None:
    known = Searches()
    first = known.of("One")
    assert known.of("oNE") is first
    for number in range(REMEMBERED):
        known.of(str(number))
    assert known.of("one") is not first


def test_the_end_of_a_prompt_is_shown_on_one_line(source) -> None:
    assert tail_of("3*4=\n12\n17*6=\n") == "3*4=⏎12⏎17*6="
    long = tail_of("x" * 500 + "\x1b[31m end?")
    assert long.startswith("…")
    assert long.endswith("␛[31m end?")
    assert len(long) == module.TAIL + 1
    found = tails(source, [(1, 0), (2, 3), (77, 0)])
    assert sorted(found) == [(1, 0), (2, 3)]
