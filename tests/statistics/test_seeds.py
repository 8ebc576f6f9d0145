"""Several seeds of one kind: the interval knows of seeds and of problems."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.errors import UsageError
from evenodds.statistics import mean_of_shares, paired_difference, pooled_difference, pooled_mean
from evenodds.statistics.quantiles import student_quantile
from evenodds.statistics.seeds import pooled_difference_ends


def width(estimate):
    return estimate.high - estimate.low


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 3.7, 10, 100, 1e6])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_students_quantile_against_the_beta_function(freedom, confidence):
    t = float(student_quantile(np.array(freedom), confidence))
    outside = mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + t * t), regularized=True)
    assert float(outside) == pytest.approx(1 - confidence, rel=2e-3)


def test_seeds_that_differ_make_it_wider_than_problems_alone():
    rng = np.random.default_rng(4)
    ease = rng.random(200)
    before = rng.binomial(16, 0.5 * ease) / 16
    after = np.array([rng.binomial(16, np.clip(ease * f, 0, 1)) / 16 for f in (0.6, 0.8, 1.0)])
    pooled = pooled_difference(before[None], after)
    naive = paired_difference(before, after.mean(0))
    assert pooled.mean == pytest.approx(naive.mean)
    assert width(pooled) > 3 * width(naive)


def test_seeds_that_agree_are_nearly_one_policy():
    rng = np.random.default_rng(4)
    rates = rng.random(100)
    runs = rng.binomial(8, rates, (4, 100)) / 8
    assert width(pooled_mean(runs)) < 1.3 * width(mean_of_shares(runs.mean(0)))


def test_one_seed_on_each_side_is_the_paired_difference():
    before, after = np.linspace(0, 1, 30), np.linspace(0.2, 0.9, 30)
    assert pooled_difference(before[None], after[None]) == paired_difference(before, after)
    assert pooled_mean(before[None]) == mean_of_shares(before)


tables = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        *[
            st.lists(st.lists(st.sampled_from([0, 0.5, 1]), min_size=n, max_size=n), min_size=1)
            for _ in range(2)
        ]
    )
)


@settings(max_examples=60)
@given(tables)
def test_no_interval_is_without_width(pair):
    before, after = (np.array(side[:4], dtype=float) for side in pair)
    for found in (pooled_difference(before, after), pooled_mean(after)):
        assert found.low - 1e-12 <= found.mean <= found.high + 1e-12
        assert width(found) > 1e-3


def test_two_seeds_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(9)
    runs, n = 1500, 50
    ease = rng.normal(size=(runs, 1, n))
    base = rng.binomial(8, 1 / (1 + np.exp(-ease))) / 8
    drift = 0.5 * rng.normal(size=(runs, 3, 1))
    after = rng.binomial(8, 1 / (1 + np.exp(-ease - drift))) / 8
    _, low, high = pooled_difference_ends(base, after)
    inside = np.mean((low <= 0) & (high >= 0))
    assert 0.92 <= inside <= 0.98
    means = after.mean(1, keepdims=True)
    naive = (means - base).std(-1)[:, 0] / np.sqrt(n) * 1.96
    assert np.mean(np.abs((means - base).mean(-1)[:, 0]) < naive) < 0.7  # what forgets the seeds


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="same problems"):
        pooled_difference(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(UsageError, match="table"):
        pooled_mean(np.zeros(3))
