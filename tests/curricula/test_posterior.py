import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenodds.curricula.posterior import Posterior, Record, judged_shares
from tests.curricula.simulated_learners import scored

SHARES = st.lists(st.integers(0, 8).map(lambda right: right / 8), min_size=1, max_size=40)


def test_nothing_known_is_uniform():
    assert Posterior().mean == 0.5
    assert Posterior().interval() == pytest.approx((0.025, 0.975), abs=1e-3)


@pytest.mark.parametrize("wrong", [1, 7, 300])
def test_interval_against_the_closed_form(wrong):
    # Beta(1, 1 + wrong) has the distribution function 1 - (1 - x)^(1 + wrong)
    low, high = Posterior(0.0, wrong).interval()
    assert low == pytest.approx(1 - 0.975 ** (1 / (1 + wrong)), abs=2e-4)
    assert high == pytest.approx(1 - 0.025 ** (1 / (1 + wrong)), abs=2e-4)


def test_interval_of_much_evidence_is_normal():
    low, high = Posterior(2000.0, 2000.0).interval()
    half = 1.96 * math.sqrt(0.25 / 4003)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=2e-4)


@given(SHARES)
def test_interval_holds_the_mean(shares):
    known = Posterior().observe(shares)
    low, high = known.interval()
    assert 0 <= low < known.mean < high <= 1


def test_evidence_halves_after_its_half_life():
    known = Posterior(4.0, 8.0).observe([0.5] * 10, half_life=10)
    assert (known.right, known.wrong) == pytest.approx((7.0, 9.0))


@given(SHARES, st.integers(0, 1000))
def test_order_within_a_batch_does_not_matter(shares, seed):
    shuffled = np.random.default_rng(seed).permutation(shares).tolist()
    a, b = Posterior(3, 1).observe(shares), Posterior(3, 1).observe(shuffled)
    assert (a.right, a.wrong) == pytest.approx((b.right, b.wrong))


def test_follows_a_learner_that_changes():
    known = Posterior()
    for share in [0.0] * 10 + [1.0] * 10:
        known = known.observe([share] * 16, half_life=32)
    assert known.mean > 0.9


def test_levels_not_observed_are_not_claimed():
    record = Record().observe(judged_shares([scored(2, 8), scored(2, 4)]), 32)
    assert list(record.metrics(["a", "b", "c"])) == ["solve_rate", "solve_rate/c"]
    assert record.metrics(["a", "b", "c"])["solve_rate"] == 0.75


def test_a_level_out_of_sight_keeps_what_was_known():
    first = Record().observe([(0, 1.0)], 32)
    second = first.observe([(1, 0.0)] * 100, 32)
    assert second.posteriors[0] == first.posteriors[0]
