"""The expected share of mixed groups, from what a few answers tell of a level."""

from __future__ import annotations

import numpy as np
import pytest

from evenodds.errors import UsageError
from evenodds.statistics import (
    expected_informative,
    informative_group_probability,
    mixture,
)


def share(right, tries, size=16):
    return expected_informative([(1.0, mixture(right, tries))], size)


def test_many_answers_to_many_alike_problems_give_the_formula() -> None:
    rng = np.random.default_rng(0)
    for rate in (0.02, 0.1, 0.5, 0.9):
        right = rng.binomial(64, rate, 2000)
        found = share(right, np.full(2000, 64), 8)
        assert found.mean == pytest.approx(informative_group_probability(rate, 8), abs=0.01)


def test_problems_that_are_solved_always_or_never_are_not_taken_for_even_odds() -> None:
    """At the point of the mean solve rate, .5, all groups would be mixed."""
    found = share([0, 8] * 40, [8] * 80)
    assert found.high < 0.2


def test_none_right_is_not_taken_for_impossible() -> None:
    few, many = share([0] * 8, [4] * 8), share([0] * 320, [8] * 320)
    assert few.mean > 0.05
    assert few.high > 0.2  # of 32 answers: too few to refuse a run
    assert many.high < 0.02


def test_right_and_wrong_are_alike() -> None:
    right = np.array([0, 1, 3, 4, 4, 2])
    one, two = share(right, [4] * 6), share(4 - right, [4] * 6)
    assert one.mean == pytest.approx(two.mean, abs=1e-6)


def test_levels_are_weighed_by_what_is_drawn_of_them() -> None:
    easy, even = mixture([8] * 50, [8] * 50), mixture([4] * 50, [8] * 50)
    alone = [expected_informative([(1.0, one)], 8).mean for one in (easy, even)]
    both = expected_informative([(3.0, easy), (1.0, even)], 8)
    assert both.mean == pytest.approx(0.75 * alone[0] + 0.25 * alone[1])


def test_a_group_of_one_is_never_mixed_and_of_none_is_refused() -> None:
    assert share([2, 3], [4, 4], 1).mean == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(UsageError):
        share([2], [4], 0)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng, inside = np.random.default_rng(1), []
    for rate in (0.1, 0.5, 0.9):
        for alike in (4.0, 0.5):
            a, b = rate * alike, (1 - rate) * alike
            population = rng.beta(a, b, 100_000)
            truth = float(np.mean(1 - population**8 - (1 - population) ** 8))
            for _ in range(30):
                found = share(rng.binomial(4, rng.beta(a, b, 40)), np.full(40, 4), 8)
                inside.append(found.low <= truth <= found.high)
    assert np.mean(inside) > 0.88


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.99])
def test_many_levels_of_few_answers_do_not_make_sure_of_what_the_prior_says(rate) -> None:
    """With independent errors the interval lay beside the truth in most of these probes."""
    rng, inside, alike = np.random.default_rng(2), [], 4.0
    a, b = rate * alike, (1 - rate) * alike
    population = rng.beta(a, b, 100_000)
    truth = float(np.mean(1 - population**16 - (1 - population) ** 16))
    for _ in range(12):
        levels = [mixture(rng.binomial(4, rng.beta(a, b, 8)), np.full(8, 4)) for _ in range(10)]
        found = expected_informative([(1.0, one) for one in levels], 16)
        inside.append(found.low <= truth <= found.high)
    assert np.mean(inside) > 0.85
