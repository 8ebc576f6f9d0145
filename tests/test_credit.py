import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evenodds.credit import (
    CREDITS,
    centered,
    leave_one_out,
    mean_normalized,
    raw,
    standardized,
    standardized_sample,
    whitened,
)
from evenodds.domain import SAME_REWARD, Group, Limits, Problem, Rollout, Status, Stop, Verdict

HALVES = np.array([1.0, 1.0, 0.0, 0.0])
NAMES = sorted(CREDITS)
COMPARED = sorted(set(NAMES) - {"raw"})  # those that compare an answer with its group
# quarters are exact in binary, so that a shift of them loses nothing
REWARDS = hnp.arrays(
    np.float64, st.integers(1, 16), elements=st.integers(-8, 8).map(lambda n: n / 4)
)


def test_golden_halves():
    assert centered(HALVES).tolist() == [0.5, 0.5, -0.5, -0.5]
    assert standardized(HALVES).tolist() == [1, 1, -1, -1]
    assert leave_one_out(HALVES) == pytest.approx([2 / 3, 2 / 3, -2 / 3, -2 / 3])
    assert mean_normalized(HALVES).tolist() == [1, 1, -1, -1]


def test_sample_deviation_and_floor_are_those_of_trl():
    assert standardized_sample(HALVES) == pytest.approx(
        np.array([0.5, 0.5, -0.5, -0.5]) / (math.sqrt(1 / 3) + 1e-4)
    )


@pytest.mark.parametrize("size", [2, 4, 8, 64])
def test_one_success_is_worth_the_root_of_the_rest(size):
    rewards = np.array([1.0] + [0.0] * (size - 1))
    advantages = standardized(rewards)
    assert advantages[0] == pytest.approx(math.sqrt(size - 1))
    assert advantages[1:] == pytest.approx(-1 / math.sqrt(size - 1))


@pytest.mark.parametrize(
    ("p", "by_mean", "by_deviation"),
    [
        (0.01, 0.0173, 0.0517),
        (0.05, 0.0831, 0.2349),
        (0.1, 0.1575, 0.4190),
        (0.25, 0.3281, 0.7598),
        (0.5, 0.4375, 0.9278),
    ],
)
def test_expected_size_of_an_advantage_at_eight_answers(p, by_mean, by_deviation):
    def expected(credit):
        return sum(
            math.comb(8, right)
            * p**right
            * (1 - p) ** (8 - right)
            * float(np.abs(credit(np.array([1.0] * right + [0.0] * (8 - right)))).mean())
            for right in range(9)
        )

    assert expected(centered) == pytest.approx(by_mean, abs=5e-5)
    assert expected(standardized) == pytest.approx(by_deviation, abs=5e-5)


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("value", [0.0, 0.1, 0.7, 1.0, 1e6 / 3])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_group_that_agrees_gets_exactly_zero(name, value, size):
    # the mean of seven times 0.1 is not 0.1 in floats: divided by a spread of the same size it
    # would be a large advantage
    assert CREDITS[name](np.full(size, value)).tolist() == [0.0] * size


@pytest.mark.parametrize("name", COMPARED)
def test_noise_is_no_signal(name):
    assert not CREDITS[name](np.array([0.5, 0.5, 0.5, 0.5 + 1e-7])).any()


def group_of(rewards):
    ids = np.zeros(1, np.int64)
    rollout = Rollout(ids, ids, np.zeros(1, np.float32), Stop.END_TOKEN, "", limits=Limits(1))
    verdicts = [Verdict(float(reward), Status.WRONG) for reward in rewards]
    return Group(Problem("k", "p", "1", "t"), [rollout] * len(rewards), verdicts)


@pytest.mark.parametrize(
    ("rewards", "is_informative"),
    [
        ([], False),
        ([1.0], False),
        ([0.5, 0.5, 0.5, 0.5 + 1e-7], False),
        ([0.0, SAME_REWARD], True),
        ([0.0, 0.99 * SAME_REWARD], False),
        ([0.0, 1.0], True),
    ],
)
def test_a_group_informs_exactly_where_it_earns_credit(rewards, is_informative):
    assert group_of(rewards).is_informative == is_informative
    assert centered(np.array(rewards)).any() == is_informative


@pytest.mark.parametrize("name", COMPARED)
@given(rewards=REWARDS)
def test_the_best_answer_is_never_blamed(name, rewards):
    advantages = CREDITS[name](rewards)
    assert advantages[rewards.argmax()] >= 0 >= advantages[rewards.argmin()]


def test_a_negative_mean_keeps_the_sign():
    assert mean_normalized(np.array([-1.0, 0.0])).tolist() == [-1, 1]


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_group_has_no_advantages(name):
    assert CREDITS[name](np.zeros(0)).shape == (0,)


def test_no_right_answer_has_no_mean_to_divide_by():
    assert mean_normalized(np.array([1.0, -1.0])).tolist() == [0, 0]


@pytest.mark.parametrize("name", COMPARED)
@given(rewards=REWARDS)
def test_sums_to_zero(name, rewards):
    advantages = CREDITS[name](rewards)
    assert advantages.shape == rewards.shape
    assert abs(advantages.sum()) <= 1e-12 * max(1.0, float(np.abs(advantages).max()))


@pytest.mark.parametrize("name", NAMES)
@given(rewards=REWARDS, data=st.data())
def test_follows_a_permutation(name, rewards, data):
    order = np.array(data.draw(st.permutations(range(rewards.size))))
    credit = CREDITS[name]
    np.testing.assert_allclose(credit(rewards[order]), credit(rewards)[order], atol=1e-12)


@pytest.mark.parametrize("name", sorted(set(COMPARED) - {"mean_normalized"}))
@given(rewards=REWARDS, shift=st.integers(-64, 64))
def test_a_shift_of_all_rewards_changes_nothing(name, rewards, shift):
    credit = CREDITS[name]
    np.testing.assert_allclose(credit(rewards + shift), credit(rewards), atol=1e-12)


@given(rewards=REWARDS, scale=st.sampled_from([0.25, 2.0, 64.0]))
def test_scale_goes_through_centered_and_out_of_standardized(rewards, scale):
    np.testing.assert_allclose(centered(scale * rewards), scale * centered(rewards), atol=1e-12)
    np.testing.assert_allclose(standardized(scale * rewards), standardized(rewards), atol=1e-12)


@given(rewards=REWARDS, scale=st.sampled_from([0.25, 2.0, 64.0]), shift=st.integers(-64, 64))
def test_standardized_is_invariant_under_any_rising_line(rewards, scale, shift):
    """a·r + b with a > 0, as an exam marked in other units: the advantages stay."""
    np.testing.assert_allclose(
        standardized(scale * rewards + shift), standardized(rewards), atol=1e-9
    )


@given(rewards=REWARDS, scale=st.sampled_from([0.25, 2.0, 64.0]))
def test_scale_goes_through_leave_one_out_and_out_of_mean_normalized(rewards, scale):
    np.testing.assert_allclose(leave_one_out(scale * rewards), scale * leave_one_out(rewards))
    np.testing.assert_allclose(mean_normalized(scale * rewards), mean_normalized(rewards))


@given(rewards=REWARDS)
def test_leave_one_out_is_centered_times_g_over_g_less_1(rewards):
    size = rewards.size
    factor = size / (size - 1) if size > 1 else 0.0
    np.testing.assert_allclose(leave_one_out(rewards), factor * centered(rewards), atol=1e-12)


@given(rewards=REWARDS)
def test_standardized_has_a_deviation_of_1_or_0(rewards):
    assert standardized(rewards).std() == pytest.approx(float(np.ptp(rewards) > 0), abs=1e-9)


@pytest.mark.parametrize("spread", [1e-6, 1e-5, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("size", [2, 4, 16])
def test_the_smallest_signal_is_not_blown_up(size, spread):
    """A standardized advantage is at most the root of G - 1, however small the spread."""
    rewards = np.array([spread] + [0.0] * (size - 1))
    assert np.abs(standardized(rewards)).max() <= math.sqrt(size - 1) + 1e-9
    assert np.abs(standardized(0.3 + rewards)).max() <= math.sqrt(size - 1) + 1e-3


def test_raw_is_the_reward_itself():
    rewards = np.array([0.5, 0.5, -1.0])
    assert raw(rewards).tolist() == [0.5, 0.5, -1.0]
    assert raw(rewards) is not rewards


VALUES = hnp.arrays(np.float64, 6, elements=st.integers(-8, 8).map(lambda n: n / 4))
WEIGHTS = hnp.arrays(np.float64, 6, elements=st.integers(0, 9).map(float))


@given(values=VALUES, weights=WEIGHTS)
def test_whitened_has_mean_0_and_deviation_1_over_the_tokens(values, weights):
    found = whitened(values, weights)
    counted = found[weights > 0]
    if np.ptp(values[weights > 0]) == 0 if counted.size else True:
        assert counted.tolist() == [0.0] * counted.size
        return
    assert abs(np.average(found, weights=weights)) < 1e-12
    assert np.average(found**2, weights=weights) == pytest.approx(1)


def test_whitening_counts_tokens_not_answers():
    """Two answers of which the second is three times as long: mean .25, std sqrt(3)/4."""
    root = math.sqrt(3)
    assert whitened(np.array([1.0, 0.0]), np.array([1.0, 3.0])) == pytest.approx([root, -1 / root])


def test_what_is_not_in_the_loss_does_not_make_a_signal_of_float_residue():
    """.1 three times in the loss and 1.0 outside it: those in the loss agree."""
    found = whitened(np.array([0.1, 0.1, 0.1, 1.0]), np.array([1.0, 1.0, 1.0, 0.0]))
    assert found[:3].tolist() == [0.0] * 3


@given(rewards=REWARDS.filter(lambda rewards: rewards.size > 1))
def test_leave_one_out_is_the_reward_less_the_mean_of_the_others(rewards):
    others = (rewards.sum() - rewards) / (rewards.size - 1)
    np.testing.assert_allclose(leave_one_out(rewards), rewards - others, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_rewards_are_not_written(name):
    rewards = HALVES.copy()
    CREDITS[name](rewards)
    assert rewards.tolist() == HALVES.tolist()
