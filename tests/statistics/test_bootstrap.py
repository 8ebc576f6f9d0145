"""The bootstrap of a mean: it repeats, it knows its range, and it is never without width."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.errors import UsageError
from evenodds.statistics import bootstrap, bootstrap_interval, wilson_interval


def test_it_repeats_and_agrees_with_the_normal_interval():
    values = np.random.default_rng(3).normal(2.0, 1.0, 400)
    interval = bootstrap_interval(values, -10, 10)
    half = 1.96 * values.std() / 20
    assert interval == bootstrap_interval(values, -10, 10)
    assert interval == pytest.approx((values.mean() - half, values.mean() + half), abs=0.01)


def test_in_chunks_it_is_about_the_same(monkeypatch):
    values = np.arange(50.0)
    whole = bootstrap_interval(values, 0, 50)
    bootstrap._drawn.cache_clear()
    monkeypatch.setattr(bootstrap, "CHUNK", 9999)
    assert bootstrap_interval(values, 0, 50) == pytest.approx(whole, abs=0.3)


def test_many_at_once_are_as_one_by_one():
    table = np.random.default_rng(1).random((3, 25))
    low, high = bootstrap.bootstrap_ends(table, 0.0, 1.0)
    for row, *ends in zip(table, low, high, strict=True):
        assert bootstrap_interval(row, 0.0, 1.0) == pytest.approx(ends)


@settings(max_examples=30)
@given(st.lists(st.floats(-3, 5), min_size=1, max_size=8))
def test_it_is_never_without_width_and_holds_the_mean(values):
    low, high = bootstrap_interval(values, -3, 5)
    assert -3 <= low < high <= 5
    assert low - 1e-12 <= np.mean(values) <= high + 1e-12


def test_values_that_agree_leave_as_much_doubt_as_none_in_so_many():
    assert bootstrap_interval([0.0] * 50, 0, 1) == pytest.approx(wilson_interval(0, 50))
    low, high = bootstrap_interval([7.0] * 50, 0, 10)
    assert low < 7 < high


@pytest.mark.parametrize("values", [[], [[1.0]], [2.0], [float("nan")]])
def test_it_refuses_what_has_no_place_in_the_range(values):
    with pytest.raises(UsageError):
        bootstrap_interval(values, 0, 1)


def test_it_refuses_an_empty_range():
    with pytest.raises(UsageError, match="range"):
        bootstrap_interval([1.0], 1.0, 1.0)
