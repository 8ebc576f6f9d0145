"""Groups in columns, the filters that stand in an address, and their order."""

from __future__ import annotations

from urllib.parse import parse_qsl

import numpy as np
import pytest

from evenodds.viewer.filters import SORTS, Filters, chosen, counted_at_all, filters_of, whole
from evenodds.viewer.table import KINDS, UNKNOWN, Groups, from_line, from_lines, joined


def line(step: int, **changes) -> dict:
    """Four groups: mixed, all right, all wrong, not judged."""
    plain = {
        "step": step,
        "key": ["a", "b", "c", "d"],
        "level": [0, 1, 1, 2],
        "size": [4, 4, 4, 4],
        "judged": [4, 4, 3, 0],
        "right": [1, 4, 0, 0],
        "reward": [0.25, 1.0, 0.0, None],
        "truncated": [0, 0, 2, 0],
        "duplicates": [1, 3, 0, 0],
        "disagree": None,
        "mixed": [True, False, False, False],
        "tokens": [40, 50, 60, 70],
        "round": [0, 0, 0, 0],
    }
    return plain | changes


def groups(*steps: int) -> Groups:
    return joined(list(from_lines({step: line(step) for step in steps}).values()))


def spots(found: Groups, **asked) -> list[tuple[int, int]]:
    places = chosen(found, Filters(**{"sort": "oldest", **asked}))
    return [(int(found["step"][at]), int(found["group"][at])) for at in places]


def test_a_line_becomes_columns() -> None:
    found = from_line(line(3))
    assert found is not None
    assert [KINDS[kind] for kind in found.kind()] == ["mixed", "right", "wrong", "unjudged"]
    assert found["disagree"].tolist() == [UNKNOWN] * 4
    assert np.isnan(found["reward"][3])
    assert found.rate()[:3].tolist() == [0.25, 1.0, 0.0]
    assert np.isnan(found.rate()[3])
    assert found.place(3, 2) == 2
    assert found.place(3, 4) is None
    assert not counted_at_all(found, "disagree")
    assert counted_at_all(found, "truncated")


@pytest.mark.parametrize(
    "broken",
    [
        {"key": "abcd"},
        {"key": []},
        {"level": [1]},
        {"level": ["x"] * 4},
        {"tokens": [1 << 80, 0, 0, 0]},
        {"right": [[1], 2, 3, 4]},
        {"reward": [{}, 0, 0, 0]},
    ],
)
def test_a_line_that_is_none_costs_no_other(broken) -> None:
    assert from_line(line(1, **broken)) is None
    found = from_lines({1: line(1), 2: line(2, **broken), 3: line(3)})
    assert sorted(found) == [1, 3]
    assert found[3]["level"].tolist() == [0, 1, 1, 2]


def test_old_lines_without_newer_columns_are_read() -> None:
    short = {name: line(1)[name] for name in ("step", "key", "level", "judged", "right")}
    found = from_line(short)
    assert found is not None
    assert found["duplicates"].tolist() == [UNKNOWN] * 4
    assert not found["mixed"].any()


def test_filters_narrow() -> None:
    found = groups(1, 2, 3)
    assert len(found) == 12
    assert spots(found, kind="mixed") == [(1, 0), (2, 0), (3, 0)]
    assert spots(found, kind="unjudged", first=2) == [(2, 3), (3, 3)]
    assert spots(found, level=1, last=1) == [(1, 1), (1, 2)]
    assert spots(found, truncated=True, first=2, last=2) == [(2, 2)]
    assert spots(found, duplicates=True, last=1) == [(1, 0), (1, 1)]
    assert spots(found, disagree=True) == []


def test_orders_are_stable_and_put_what_is_not_known_last() -> None:
    found = groups(1, 2)
    assert spots(found, sort="newest")[:2] == [(2, 0), (2, 1)]
    assert spots(found, sort="hardest") == [
        *[(1, 2), (2, 2), (1, 0), (2, 0)],
        *[(1, 1), (2, 1), (1, 3), (2, 3)],
    ]
    assert spots(found, sort="easiest")[:2] == [(1, 1), (2, 1)]
    assert spots(found, sort="easiest")[-1] == (2, 3)
    assert spots(found, sort="longest")[0] == (1, 3)
    assert {len(spots(found, sort=name)) for name in SORTS} == {8}


def test_an_address_and_its_filters_are_the_same_thing() -> None:
    asked = Filters(2, "wrong", True, False, True, 3, 0, "a & b=c?", "longest")
    assert filters_of(dict(parse_qsl(asked.query()))) == asked
    assert Filters().query() == ""
    assert asked.pairs(kind="", q="")["level"] == "2"
    assert "q" not in asked.pairs(q="")


@pytest.mark.parametrize("text", ["-1", "1.5", "1e9", "٣", "x", "9" * 10, "", None])
def test_what_makes_no_sense_narrows_nothing(text) -> None:
    assert whole(text) is None
    query = {"level": text, "kind": text, "sort": text, "disagree": text, "first": text}
    given = {name: value for name, value in query.items() if value is not None}
    assert filters_of(given) == Filters()


def test_an_empty_run_has_columns_too() -> None:
    assert len(joined([])) == 0
    assert spots(joined([]), sort="hardest") == []
