"""Gained and lost, McNemar's test, and where the base catches up."""

from __future__ import annotations

import math
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenodds.errors import UsageError
from evenodds.statistics import (
    Estimate,
    catch_up,
    gained_minus_lost,
    holm,
    mcnemar,
    p_value,
    paired_difference,
    unpaired_difference,
    wilson_interval,
)


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (7, 2), (2, 7), (5, 5), (300, 280)])
def test_mcnemar_is_the_binomial_sum(gained, lost):
    n, fewer = gained + lost, min(gained, lost)
    below = sum(comb(n, i) for i in range(fewer)) / 2**n
    at = comb(n, fewer) / 2**n
    assert mcnemar(gained, lost) == pytest.approx(min(1.0, 2 * below + at), rel=1e-12)
    assert mcnemar(gained, lost) == mcnemar(lost, gained)


def test_mcnemar_of_a_published_table():
    # Fagerland, Lydersen and Laake 2013, table 1: 1 against 7 of 21: mid-p .039, exact .070
    assert mcnemar(7, 1) == pytest.approx(0.039, abs=5e-4)


def test_mcnemar_keeps_its_level_and_sees_what_is_there():
    for n in range(6, 60):
        chances = [comb(n, g) / 2**n for g in range(n + 1)]
        false = sum(c for g, c in enumerate(chances) if mcnemar(g, n - g) < 0.05)
        assert false < 0.078
    assert mcnemar(20_000, 1000) < 1e-9


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), *[st.integers(0, n)] * 2)))
def test_gained_minus_lost_is_never_certain_and_is_symmetric(numbers):
    n, gained, lost = numbers[0], numbers[1], min(numbers[2], numbers[0] - numbers[1])
    found, mirrored = gained_minus_lost(gained, lost, n), gained_minus_lost(lost, gained, n)
    assert -1 <= found.low <= found.mean <= found.high <= 1
    assert found.low < found.high
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_none_changed_is_as_sure_as_none_in_so_many():
    limit = wilson_interval(0, 80)[1]
    found = gained_minus_lost(0, 0, 80)
    assert (found.low, found.mean, found.high) == (-limit, 0.0, limit)
    assert math.isnan(gained_minus_lost(0, 0, 0).mean)


def test_more_changes_than_problems_are_refused():
    with pytest.raises(UsageError, match="Count each problem once"):
        gained_minus_lost(3, 2, 4)


def test_values_that_are_no_shares_are_refused():
    with pytest.raises(UsageError, match="shares"):
        paired_difference([0.0, 12.0], [0.0, 1.0])


# --- where the base catches up


def lines(*means: float, half: float = 0.1) -> list[Estimate]:
    return [Estimate(mean, mean - half, mean + half) for mean in means]


def test_the_base_catches_up_between_two_tries():
    found = catch_up(lines(0.3, 0.1, -0.1, -0.3))
    assert found is not None
    assert (found.k, found.low, found.high) == pytest.approx((2.5, 2.0, 3.0))
    assert str(found) == "at k = 2.5 [2.0, 3.0]"


def test_where_it_never_does_it_says_so():
    found = catch_up(lines(0.4, 0.3, 0.25, 0.2))
    assert found is not None
    assert found.to_dict() == {"k": None, "low": None, "high": None, "most": 4}
    assert str(found) == "not up to k = 4 [beyond 4]"
    unsure = catch_up(lines(0.4, 0.2, 0.05))
    assert unsure is not None and unsure.k is None and unsure.high is None
    assert "beyond 3" in str(unsure)


def test_who_is_not_ahead_is_not_caught_up_with():
    assert catch_up(lines(-0.1, 0.2)) is None
    assert catch_up([]) is None


@given(st.lists(st.floats(-0.9, 0.9), min_size=1, max_size=12), st.floats(1e-6, 0.1))
def test_the_interval_holds_the_estimate_and_has_width(means, half):
    found = catch_up(lines(*means, half=half))
    if found is None:
        assert not means[0] > 0
        return
    low, k, high = (math.inf if x is None else x for x in (found.low, found.k, found.high))
    assert low <= k <= high
    assert low < high or math.isinf(low)


# --- several verdicts


def test_holm_against_its_definition():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_p_value_goes_with_its_interval():
    rng = np.random.default_rng(2)
    before, after = rng.random(60) * 0.5, rng.random(60) * 0.6

    def interval(confidence: float) -> Estimate:
        return paired_difference(before, after, confidence)

    p = p_value(interval)
    assert 1e-9 < p < 1
    assert interval(1 - p * 1.01).low > 0 or interval(1 - p * 1.01).high < 0
    assert interval(1 - p * 0.99).low <= 0 <= interval(1 - p * 0.99).high
    assert p_value(lambda _: Estimate(0.5, 0.4, 0.6)) == 1e-9
    assert p_value(lambda _: Estimate(0.0, -0.1, 0.1)) == 1.0


def test_an_unpaired_difference_is_the_paired_rule_without_a_correlation() -> None:
    """Newcombe 1998, table II, method 10: 56 of 70 less 48 of 80 is .2000 [.0524, .3339]."""
    sides = [Estimate(right / n, *wilson_interval(right, n)) for right, n in ((48, 80), (56, 70))]
    found = unpaired_difference(*sides)
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)
    unknown = unpaired_difference(Estimate(math.nan, 0.0, 1.0), sides[1])
    assert math.isnan(unknown.mean) and (unknown.low, unknown.high) == (-1.0, 1.0)
