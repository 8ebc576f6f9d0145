import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenodds.curricula.allocation import allocate, draw
from tests.curricula.simulated_learners import Source

WEIGHTS = st.lists(st.one_of(st.just(0.0), st.floats(0.01, 10)), min_size=1, max_size=12).filter(
    any
)


@given(weights=WEIGHTS, n=st.integers(1, 100), seed=st.integers(0, 2**32 - 1))
def test_counts_are_within_one_of_their_share(weights, n, seed):
    levels = allocate(weights, n, np.random.default_rng(seed))
    counted = np.bincount(levels, minlength=len(weights))
    shares = n * np.array(weights) / sum(weights)
    assert counted.sum() == n
    assert np.all(np.abs(counted - shares) < 1 + 1e-9)
    assert not counted[np.array(weights) == 0].any()


def test_expected_counts_are_exact_and_vary_less_than_coin_flips():
    rng = np.random.default_rng(0)
    counts = np.array([sum(allocate([0.7, 0.3], 8, rng)) for _ in range(4000)])
    assert counts.mean() == pytest.approx(2.4, abs=0.03)
    assert counts.var() < 0.26  # coin flips: 8 * .7 * .3 = 1.68


def test_order_is_shuffled():
    firsts = [allocate([1, 1], 8, np.random.default_rng(seed))[0] for seed in range(50)]
    assert 10 < sum(firsts) < 40


@pytest.mark.parametrize("n", [0, 1])
def test_few(n):
    assert len(allocate([1, 1, 1], n, np.random.default_rng(0))) == n


def test_a_batch_has_no_problem_twice_where_it_can():
    problems = draw(Source(size=100), [0] * 60, np.random.default_rng(0))
    assert len({problem.key for problem in problems}) == 60


def test_a_small_level_repeats_rather_than_hangs():
    problems = draw(Source(size=3), [1] * 10, np.random.default_rng(0))
    assert len(problems) == 10
    assert len({problem.key for problem in problems}) == 3


def test_levels_keep_their_order():
    levels = [3, 0, 2, 2, 1]
    problems = draw(Source(), levels, np.random.default_rng(0))
    assert [problem.level for problem in problems] == levels
