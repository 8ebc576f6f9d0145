"""What crosses between tests and solution: plain values, and nothing else, whatever is sent."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict, deque, namedtuple
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.sandbox.talk import wire
from evenodds.sandbox.talk.examiner import SolutionError, as_exception, update

KEYS = st.one_of(st.integers(), st.text(), st.booleans(), st.none(), st.binary(), st.fractions())
DATETIMES = st.datetimes().map(lambda moment: moment.replace(fold=0))
PLAIN = st.recursive(
    st.one_of(
        KEYS, st.floats(allow_nan=False), st.complex_numbers(allow_nan=False),
        st.decimals(allow_nan=False), st.dates(), DATETIMES, st.timedeltas(),
        st.integers(-(10**400), 10**400),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4), st.sets(KEYS, max_size=4),
        st.frozensets(KEYS, max_size=4),
    ),
    max_leaves=12,
)  # fmt: skip
TYPES = {
    "list", "tuple", "dict", "set", "frozenset", "int", "float", "str", "bytes", "bytearray",
    "bool", "NoneType", "complex", "Decimal", "Fraction", "datetime", "date", "time", "timedelta",
    "range", "list_iterator", "Opaque",
}  # fmt: skip


def sent(value: Any) -> Any:
    """A value as it arrives on the other side."""
    return wire.unpack(json.loads(json.dumps(wire.Packer().pack(value))))


@settings(max_examples=100, deadline=None)
@given(PLAIN)
def test_plain_values_arrive_as_they_are(value: Any) -> None:
    arrived = sent(value)
    assert type(arrived) is type(value)
    assert arrived == value
    if not any(isinstance(item, set | frozenset) for item in every(value)):  # their order is free
        assert repr(arrived) == repr(value)


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=9)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from([*wire.REBUILD, "eval"]), inner, max_size=2),
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_whatever_is_sent_only_plain_values_are_rebuilt(found: Any) -> None:
    try:
        value = wire.unpack(found)
    except Exception:  # the examiner takes any as "no data"
        return
    names = {type(item).__name__ for item in every(value)}
    assert names <= TYPES


def every(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(x for pair in value.items() for part in pair for x in every(part))]
    if isinstance(value, list | tuple | set | frozenset):
        return [value, *(x for item in value for x in every(item))]
    return [value]


class Lying(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "99"

    __hash__ = int.__hash__


class Color(IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "arrived"),
    [
        (Lying(5), 5), (Color.RED, 1), (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}), (namedtuple("P", "x y")(1, 2), (1, 2)), (-0.0, -0.0),
    ],
)  # fmt: skip
def test_kin_of_plain_types_arrive_as_the_plain_type(value: Any, arrived: Any) -> None:
    assert sent(value) == arrived
    assert type(sent(value)) is type(arrived)


def test_iterators_arrive_as_iterators_and_objects_as_nothing_that_is_equal() -> None:
    for lazy in (
        iter([1, 2]),
        (x for x in (1, 2)),
        map(int, "12"),
        {1: 0, 2: 0}.keys(),
        deque([1, 2]),
    ):
        arrived = sent(lazy)
        assert arrived != [1, 2]
        assert list(arrived) == [1, 2]
    for value in (object(), len, Lying, json, ...):
        arrived = sent(value)
        assert isinstance(arrived, wire.Opaque)
        assert arrived != value
        assert arrived != sent(value)
    assert math.isnan(sent(math.nan))
    assert sent(Decimal("1.10")).as_tuple() == Decimal("1.10").as_tuple()
    assert sent([Fraction(1, 3), datetime(2024, 2, 29), date.max, timedelta(1)])[1].day == 29


def test_what_is_too_much_is_not_sent() -> None:
    nest: list[Any] = []
    for _ in range(1000):
        nest = [nest]
    loop: list[Any] = []
    loop.append(loop)
    for value in (nest, loop, [0] * (wire.NODES + 1), iter(int, 1)):
        with pytest.raises(wire.TooMuch):
            wire.Packer().pack(value)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["ValueError", "Exception"], ValueError), (["Own", "KeyError", "LookupError"], KeyError),
        (["UnicodeDecodeError", "ValueError"], ValueError), (["SystemExit"], SolutionError),
        (["KeyboardInterrupt", "object"], SolutionError), (["AssertionError"], SolutionError),
        (["StopIteration", "Exception"], SolutionError), (["print", "nothing"], SolutionError),
        ("ValueError", SolutionError), ([1, None], SolutionError), (["Exception"], SolutionError),
    ],
)  # fmt: skip
def test_which_exceptions_cross(names: Any, kind: type[BaseException]) -> None:
    assert type(as_exception({"raised": names, "text": "why"})) is kind


def test_containers_are_changed_in_place_also_inside_each_other() -> None:
    inner, table = [1], {"a": [1], "b": 2}
    outer = [inner, table, {1}, 5]
    update(outer, [[1, 2], {"a": [9], "c": 3}, {2}, 6, 7])
    assert outer == [[1, 2], {"a": [9], "c": 3}, {2}, 6, 7]
    assert outer[0] is inner
    assert inner == [1, 2]
    assert outer[1] is table
    update(outer, "another type")
    assert len(outer) == 5
