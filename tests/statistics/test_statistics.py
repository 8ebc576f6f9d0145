import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.errors import UsageError
from evenodds.statistics import (
    Estimate,
    clustered_rate,
    expected_draws_for_informative_groups,
    informative_group_probability,
    paired_difference,
    pass_at_k,
    pass_at_k_curve,
    pass_at_k_independent,
    wilson_interval,
)


def coverage(interval_of, draw, truth, trials):
    intervals = [interval_of(*draw()) for _ in range(trials)]
    return np.mean([low - 1e-12 <= truth <= high + 1e-12 for low, high in intervals])


def ends(estimate):
    return estimate.low, estimate.high


# --- informative groups


@pytest.mark.parametrize(
    ("p", "chance", "draws"),
    [
        (0.01, 0.0773, 1294.41),
        (0.1, 0.5695, 175.58),
        (0.5, 0.9922, 100.79),
        (0.9, 0.5695, 175.58),
        (0.99, 0.0773, 1294.41),
    ],
)
def test_golden_informative_groups(p, chance, draws):
    assert informative_group_probability(p, 8) == pytest.approx(chance, abs=5e-5)
    assert expected_draws_for_informative_groups(p, 8, 100) == pytest.approx(draws, abs=5e-3)


@given(p=st.floats(0, 1), size=st.integers(1, 64))
def test_informative_share_is_a_share_and_symmetric(p, size):
    chance = informative_group_probability(p, size)
    assert 0 <= chance <= 1
    assert chance == pytest.approx(1 - p**size - (1 - p) ** size, abs=1e-12)


def test_informative_share_of_a_rare_success_is_not_lost_in_rounding():
    assert informative_group_probability(1e-18, 8) == pytest.approx(8e-18)


def test_no_draw_is_informative_at_the_ends():
    assert expected_draws_for_informative_groups(0.0, 8, 1) == math.inf
    assert expected_draws_for_informative_groups(1.0, 8, 1) == math.inf
    assert expected_draws_for_informative_groups(0.5, 1, 1) == math.inf
    assert expected_draws_for_informative_groups(0.0, 8, 0) == 0


@pytest.mark.parametrize(("p", "size"), [(-0.1, 8), (1.1, 8), (math.nan, 8), (0.5, 0)])
def test_informative_share_refuses(p, size):
    with pytest.raises(UsageError, match=r"Got .*\. Give"):
        informative_group_probability(p, size)


# --- pass@k


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), *[st.integers(0, n)] * 2)))
def test_pass_at_k_is_the_binomial_form(numbers):
    n, c, k = numbers[0], numbers[1], max(1, numbers[2])
    closed = 1 - math.comb(n - c, k) / math.comb(n, k)
    assert pass_at_k(n, c, k) == pytest.approx(closed, abs=1e-12)


def test_pass_at_k_is_unbiased_and_the_plug_in_is_not():
    n, p, k = 10, 0.2, 4
    weights = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    truth = pass_at_k_independent(p, k)
    unbiased = sum(w * pass_at_k(n, c, k) for c, w in enumerate(weights))
    plug_in = sum(w * pass_at_k_independent(c / n, k) for c, w in enumerate(weights))
    assert unbiased == pytest.approx(truth, abs=1e-12)
    assert plug_in < truth - 0.01


def test_pass_at_k_ends_and_large_numbers():
    assert pass_at_k(8, 0, 8) == 0
    assert pass_at_k(8, 1, 8) == 1
    assert pass_at_k(8, 3, 1) == pytest.approx(3 / 8)
    assert pass_at_k(100_000, 50_000, 1) == pytest.approx(0.5)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 2, 5), (4, 5, 2), (4, -1, 2), (4, 2, 0), (0, 0, 1)])
def test_pass_at_k_refuses(n, c, k):
    with pytest.raises(UsageError):
        pass_at_k(n, c, k)


# --- intervals


def test_wilson_against_known_values():
    # 81 of 263 and 15 of 148: Newcombe 1998, Statistics in Medicine 17, table I
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert wilson_interval(0, 0) == (0, 1)


@given(trials=st.floats(0.5, 1e6), share=st.floats(0, 1), confidence=st.sampled_from([0.8, 0.95]))
def test_wilson_solves_its_equation(trials, share, confidence):
    successes = min(trials, share * trials)
    low, high = wilson_interval(successes, trials, confidence)
    assert 0 <= low <= successes / trials <= high <= 1
    assert high > low
    mirrored = wilson_interval(trials - successes, trials, confidence)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("counts", [(3, 2), (-1, 2), (math.nan, 2), (1, math.inf)])
def test_wilson_refuses_impossible_counts(counts):
    with pytest.raises(UsageError):
        wilson_interval(*counts)


def test_wilson_refuses_a_confidence_in_percent():
    with pytest.raises(UsageError):
        wilson_interval(1, 2, 95)


@pytest.mark.parametrize(("n", "p"), [(50, 0.5), (50, 0.2), (200, 0.05), (200, 0.9)])
def test_wilson_coverage(n, p):
    chances = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    inside = [low <= p <= high for low, high in (wilson_interval(c, n) for c in range(n + 1))]
    assert 0.93 <= float(np.dot(chances, inside)) <= 0.97


# problems whose solve rates are nearly equal, spread evenly, or mostly at the ends
@pytest.mark.parametrize("beta", [(400, 400), (1, 1), (0.3, 0.7)])
@pytest.mark.parametrize("problems", [50, 200])
def test_clustered_rate_coverage(beta, problems):
    rng = np.random.default_rng(7)
    tries = np.full(problems, 8)

    def draw():
        return rng.binomial(8, rng.beta(*beta, problems)), tries

    truth = beta[0] / sum(beta)
    share = coverage(lambda *counts: ends(clustered_rate(*counts)), draw, truth, 1500)
    assert 0.93 <= share <= 0.98


def test_clustered_rate_lies_between_problems_and_samples():
    tries = np.full(40, 8)
    alike = clustered_rate(np.full(40, 4), tries)
    assert ends(alike) == pytest.approx(wilson_interval(160, 320))
    opposite = clustered_rate(np.repeat([0, 8], 20), tries)
    assert ends(opposite) == pytest.approx(wilson_interval(20, 40))


def test_clustered_rate_at_the_ends_trusts_problems_only():
    assert ends(clustered_rate(np.zeros(30, int), np.full(30, 8))) == wilson_interval(0, 30)
    assert ends(clustered_rate(np.full(30, 8), np.full(30, 8))) == wilson_interval(30, 30)


def test_clustered_rate_weighs_problems_alike_and_leaves_out_the_unjudged():
    estimate = clustered_rate([1, 0, 0], [1, 9, 0])
    assert estimate.mean == 0.5
    nothing = clustered_rate([0, 0], [0, 0])
    assert math.isnan(nothing.mean)
    assert ends(nothing) == (0, 1)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=30))
def test_clustered_rate_is_never_certain(pairs):
    right, tries = np.array([sorted(pair) for pair in pairs]).T
    estimate = clustered_rate(right, tries)
    assert 0 <= estimate.low < estimate.high <= 1
    assert math.isnan(estimate.mean) or estimate.low <= estimate.mean <= estimate.high


def test_counts_must_fit():
    with pytest.raises(UsageError):
        clustered_rate([1, 2], [4])
    with pytest.raises(UsageError):
        clustered_rate([5], [4])


# (gained, lost) among greedy answers, then shares of eight answers each
@pytest.mark.parametrize("gained, lost", [(0.3, 0.05), (0.6, 0.02), (0.1, 0.1)])
def test_paired_difference_coverage_of_answers(gained, lost):
    rng = np.random.default_rng(11)
    cells = np.array([[0, 1], [1, 0], [0, 0], [1, 1]])
    rest = (1 - gained - lost) / 2

    def draw():
        return cells[rng.choice(4, 100, p=[gained, lost, rest, rest])].T

    share = coverage(lambda *pair: ends(paired_difference(*pair)), draw, gained - lost, 1500)
    assert 0.93 <= share <= 0.97


def test_paired_difference_coverage_of_shares(monkeypatch):
    rng = np.random.default_rng(12)

    def draw():
        before = rng.beta(0.5, 0.5, 60)
        after = before + (1 - before) * 0.4 * rng.random(60)
        return rng.binomial(8, before) / 8, rng.binomial(8, after) / 8

    share = coverage(lambda *pair: ends(paired_difference(*pair)), draw, 0.1, 1500)
    assert 0.93 <= share <= 0.97


def test_pairs_are_kept():
    before = np.linspace(0, 0.9, 100)
    estimate = paired_difference(before, before + 0.1)
    assert estimate.mean == pytest.approx(0.1)
    assert 0.05 < estimate.low < estimate.high < 0.14


@pytest.mark.parametrize("value", [-1.0, 0.0, 0.25, 1.0])
@pytest.mark.parametrize("problems", [1, 50])
def test_equal_differences_leave_doubt(value, problems):
    before = np.full(problems, max(0.0, -value))
    estimate = paired_difference(before, before + value)
    assert -1 <= estimate.low <= estimate.mean == value <= estimate.high <= 1
    assert estimate.high - estimate.low > 0.03


def test_nothing_changed_is_as_sure_as_none_in_so_many():
    estimate = paired_difference(np.ones(200), np.ones(200))
    limit = wilson_interval(0, 200)[1]
    assert ends(estimate) == pytest.approx((-limit, limit))


def test_paired_difference_refuses_other_problems_and_knows_nothing_of_none():
    with pytest.raises(UsageError):
        paired_difference([0.5], [0.5, 0.5])
    assert ends(paired_difference([], [])) == (-1, 1)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_paired_difference_is_never_certain(pairs):
    before, after = np.array(pairs).T
    estimate = paired_difference(before, after)
    mirrored = paired_difference(after, before)
    assert -1 <= estimate.low <= estimate.mean <= estimate.high <= 1
    assert estimate.low < estimate.high
    assert mirrored.mean == pytest.approx(-estimate.mean)


def test_curve_is_the_mean_of_pass_at_k_and_rises():
    n, c = np.full(30, 8), np.arange(30) % 5
    curve = pass_at_k_curve(n, c, [1, 2, 4, 8])
    assert curve[0].mean == pytest.approx(float(np.mean(c / n)))
    assert curve[3].mean == pytest.approx(float(np.mean(c > 0)))
    means = [estimate.mean for estimate in curve]
    assert means == sorted(means)
    assert all(estimate.low < estimate.mean < estimate.high for estimate in curve)


@pytest.mark.parametrize("k", [1, 8])
def test_curve_coverage(k):
    rng = np.random.default_rng(13)
    n = np.full(80, 16)

    def draw():
        return n, rng.binomial(16, rng.beta(0.3, 0.7, 80))

    # 1 - E (1 - p)^k for p ~ Beta(a, b)
    truth = 1 - math.prod((0.7 + i) / (1.0 + i) for i in range(k))
    share = coverage(lambda *counts: ends(pass_at_k_curve(*counts, [k])[0]), draw, truth, 1500)
    assert 0.93 <= share <= 0.97


def test_curve_of_a_hopeless_level_leaves_doubt():
    (estimate,) = pass_at_k_curve(np.full(20, 8), np.zeros(20, int), [4])
    assert ends(estimate) == pytest.approx(wilson_interval(0, 20))


def test_curve_leaves_out_problems_with_too_few_answers():
    (estimate,) = pass_at_k_curve([8, 4], [8, 0], [8])
    assert estimate.mean == 1
    with pytest.raises(UsageError, match="pass@16 needs 16 answers"):
        pass_at_k_curve([8, 4], [8, 0], [16])


# --- the estimate


def test_estimate_reads_well():
    assert str(Estimate(0.571, 0.52, 0.62)) == "57.1 % [52.0, 62.0]"
    assert str(Estimate(math.nan, 0.0, 1.0)) == "unknown [0.0, 100.0]"
    assert Estimate(0.123, 0.08, 0.161).points() == "+12.3 points [+8.0, +16.1]"


def test_estimate_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Estimate(0.5, 0.4, 0.6).mean = 1.0  # pyright: ignore[reportAttributeAccessIssue]
