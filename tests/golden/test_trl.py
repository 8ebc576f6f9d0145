"""TRL 1.16's own loss and gradient beside ours: stored, so that no TRL is needed here.

The goldens are made by benchmarks/trl_goldens.py; docs/trl.md says what is equal and what is not.
Every mode has twelve random batches (docs/trl.md has the exceptions); all is in double precision.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenodds.credit import standardized_sample
from evenodds.errors import UsageError
from evenodds.objectives import make_objective
from evenodds.objectives.coefficient import make_bonus
from evenodds.objectives.surrogate import Cispo
from tests.golden import trl_ours as ours

SAME = 1e-14
SHARED = [*ours.EQUAL, *ours.BY_HAND]
ONE_CASE = {"dapo, far", "dapo, noisy rewards"}
OWN_SPLIT = {"dapo, top entropy"}  # a quantile of each micro-batch, so of TRL's own
NOT_FROM_REWARDS = {"dapo, scale batch", "dr_grpo, half of a generation batch"}


def test_every_mode_of_the_goldens_is_compared() -> None:
    assert set(ours.goldens()["modes"]) == {*SHARED, *ours.DIFFERENT}
    assert ours.goldens()["trl"] == "1.16.0"


@pytest.mark.parametrize("mode", [*SHARED, *ours.DIFFERENT])
def test_there_are_enough_cases_and_they_say_something(mode) -> None:
    moved = sum(np.abs(outcome["gradient"]).max() > 1e-6 for _, outcome in ours.pairs(mode))
    assert moved >= (1 if mode in ONE_CASE else 10)


def test_no_two_modes_in_one_piece_have_the_same_gradients() -> None:
    """A mode whose setting did nothing in these cases would prove nothing."""
    whole = {
        name: np.concatenate([outcome["gradient"] for _, outcome in ours.pairs(name)])
        for name in SHARED
        if ours.settings_of(name).get("cases", "whole") == "whole" and "micro" not in name
    }
    names = list(whole)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            if {one, other} == {"dapo", "dapo, entropy"}:
                continue  # the bonus has a gradient of its own, by the entropies
            assert np.abs(whole[one] - whole[other]).max() > 1e-4, (one, other)


@pytest.mark.parametrize("mode", SHARED)
def test_loss_and_gradient_are_those_of_trl(mode) -> None:
    objective, settings = ours.objective_of(mode), ours.settings_of(mode)
    for case, outcome in ours.pairs(mode):
        loss, gradient = ours.deviation(ours.score(objective, case, outcome, settings), outcome)
        assert loss <= SAME
        assert gradient <= SAME


@pytest.mark.parametrize("cells", [25, 10**6])
@pytest.mark.parametrize("mode", [mode for mode in SHARED if mode not in NOT_FROM_REWARDS])
def test_from_rewards_to_gradient_our_own_way_gives_the_same(mode, cells) -> None:
    """Our advantages, denominators and micro-batches, however small, against TRL's gradient."""
    if mode in OWN_SPLIT and cells < 10**6:
        pytest.skip("TRL takes the quantile within its micro-batch, here all answers at once")
    objective, settings = ours.objective_of(mode), ours.settings_of(mode)
    for case, outcome in ours.pairs(mode):
        result = ours.score_groups(objective, case, settings, cells)
        loss, gradient = ours.deviation(result, outcome)
        assert loss <= SAME
        assert gradient <= SAME


@pytest.mark.parametrize("mode", ["dapo", "dapo, scale none", "rloo", "rloo, KL in the reward"])
def test_advantages_are_those_of_trl(mode) -> None:
    objective, settings = ours.objective_of(mode), ours.settings_of(mode)
    for case, outcome in ours.pairs(mode):
        found = ours.our_advantages(objective, case, settings)
        np.testing.assert_allclose(found, outcome["advantages"], rtol=0, atol=SAME)


@pytest.mark.parametrize("mode", ["dapo, unjudged", "grpo, unjudged"])
def test_answers_without_a_reward_leave_the_mean_in_both(mode) -> None:
    objective, settings = ours.objective_of(mode), ours.settings_of(mode)
    for case, outcome in ours.pairs(mode):
        found = ours.our_advantages(objective, case, settings)
        np.testing.assert_allclose(found, outcome["advantages"], rtol=0, atol=SAME)


# Where we differ on purpose. Each of these is a line in docs/trl.md.


def both(mode: str, **changes):
    """Ours and TRL's for each case of a mode: (case, our Result, TRL's outcome)."""
    objective, settings = replace(ours.objective_of(mode), **changes), ours.settings_of(mode)
    for case, outcome in ours.pairs(mode):
        yield case, ours.score(objective, case, outcome, settings), outcome


def tokens_in(case, answers) -> int:
    return sum(case["lengths"][answer] for answer in answers)


def token_answer(case) -> np.ndarray:
    """The answer that each token belongs to."""
    return np.repeat(np.arange(len(case["lengths"])), case["lengths"])


def close(found, expected) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=SAME)


@pytest.mark.parametrize("mode", ["grpo, truncated masked", "dr_grpo, truncated masked"])
def test_masked_answers_stay_in_trls_mean_over_answers_and_leave_ours(mode) -> None:
    seen = 0
    for case, result, outcome in both(mode):
        kept = case["truncated"].count(False)
        share = kept / len(case["truncated"])
        close(result.gradient * share, outcome["gradient"])
        close(result.loss * share, outcome["loss"])
        seen += kept < len(case["truncated"])
    assert seen >= 10


def test_trl_averages_token_means_of_micro_batches_and_we_count_once() -> None:
    worst = 0.0
    for case, result, outcome in both("bnpo in 2 micro-batches"):
        all_tokens = sum(case["lengths"])
        for answers in outcome["rows"]:
            of_trl = 1 / (len(outcome["rows"]) * tokens_in(case, answers))
            at = ours.answer_tokens(case, answers)
            close(np.array(outcome["gradient"])[at], result.gradient[at] * all_tokens * of_trl)
            worst = max(worst, all_tokens * of_trl)
    assert worst > 1.3  # a token's weight, as a multiple of what it should be


def test_trl_pays_entropy_by_the_micro_batch_and_we_by_the_step() -> None:
    for case, result, outcome in both("dapo, entropy, in 2 micro-batches"):
        close(result.gradient, outcome["gradient"])
        close(result.entropy_gradient, -0.05 / sum(case["lengths"]))
        for answers in outcome["rows"]:
            at = ours.answer_tokens(case, answers)
            close(np.array(outcome["entropy_gradient"])[at], -0.05 / (2 * tokens_in(case, answers)))


def test_trl_pays_entropy_a_token_and_we_with_the_weight_of_the_surrogate() -> None:
    for case, result, outcome in both("grpo, entropy"):
        close(result.gradient, outcome["gradient"])
        close(outcome["entropy_gradient"], -0.05 / sum(case["lengths"]))
        lengths = np.array(case["lengths"])
        close(result.entropy_gradient, -0.05 / (len(lengths) * lengths[token_answer(case)]))


def test_trl_divides_part_of_a_generation_batch_by_its_average_and_we_by_its_own_tokens() -> None:
    apart = 0.0
    for case, result, outcome in both("dapo, half of a generation batch"):
        (answers,) = outcome["rows"]
        average, own = sum(case["lengths"]) / 2, tokens_in(case, answers)
        close(result.gradient * own / average, outcome["gradient"])
        apart = max(apart, abs(own / average - 1))
    assert apart > 0.1


def test_without_epsilon_high_trl_caps_cispo_at_a_fifth() -> None:
    """Its cap is epsilon_high itself, which is epsilon where it is not given; ours is 1 + high."""
    apart = 0.0
    for _, result, outcome in both("cispo, default cap"):
        apart = max(apart, np.abs(result.gradient - outcome["gradient"]).max())
    assert apart > 0.01
    for _, result, outcome in both("cispo, default cap", surrogate=Cispo(1.0, 0.2 - 1)):
        close(result.gradient, outcome["gradient"])


def test_rewards_that_differ_by_noise_have_a_signal_in_trl_and_none_here() -> None:
    ((case, outcome),) = ours.pairs("dapo, noisy rewards")
    assert np.ptp(case["rewards"]) == pytest.approx(2**-24)
    assert outcome["advantages"] == pytest.approx([-1.49e-4] * 3 + [4.47e-4], rel=1e-2)
    objective = ours.objective_of("dapo, noisy rewards")
    settings = ours.settings_of("dapo, noisy rewards")
    assert ours.our_advantages(objective, case, settings) == [0.0] * 4


@pytest.mark.parametrize("mode", ["dapo, unjudged", "grpo, unjudged"])
def test_answers_without_a_reward_stay_in_trls_denominators_and_leave_ours(mode) -> None:
    objective, settings = ours.objective_of(mode), ours.settings_of(mode)
    seen = 0
    for case, outcome in ours.pairs(mode):
        judged = np.array([r is not None for group in case["rewards"] for r in group])
        weights = np.array(case["lengths"]) if "dapo" in mode else np.ones(len(judged))
        share = weights[judged].sum() / weights.sum()
        result = ours.score_groups(objective, case, settings, cells=10**6)
        close(result.gradient * share, outcome["gradient"])
        seen += share < 0.9
    assert seen >= 5


def test_groups_without_signal_leave_our_loss_and_stay_in_trls() -> None:
    """By default: with zero_signal keep we do as TRL does. Its KL reaches their tokens."""
    seen = 0
    for mode in ("grpo", "grpo, KL"):
        objective = replace(ours.objective_of(mode), zero_signal="drop")
        for case, outcome in ours.pairs(mode):
            result = ours.score_groups(objective, case, ours.settings_of(mode), cells=10**6)
            groups = np.array([len(set(group)) > 1 for group in case["rewards"]])
            signal = np.repeat(groups, len(case["rewards"][0]))[token_answer(case)]
            of_trl = np.array(outcome["gradient"])
            close(result.gradient[signal] * groups.mean(), of_trl[signal])
            assert not result.gradient[~signal].any()
            assert (of_trl[~signal] != 0).all() == (mode == "grpo, KL") or signal.all()
            seen += not signal.all()
    assert seen >= 6


def test_the_population_deviation_is_the_default_and_trl_has_the_samples() -> None:
    rewards = np.array([1.0, 1.0, 0.0, 0.0])
    assert make_objective("grpo").credit(rewards).tolist() == [1.0, 1.0, -1.0, -1.0]
    of_trl = 0.5 / (np.sqrt(1 / 3) + 1e-4)
    close(standardized_sample(rewards), [of_trl, of_trl, -of_trl, -of_trl])
    sizes = {len(case["rewards"][0]) for case, _ in ours.pairs("grpo")}
    assert sizes == {2, 4, 6}  # at G = 2 theirs are .7070 and ours 1


def test_scaling_by_the_batch_is_not_whitening() -> None:
    """TRL: centred by group, over the sample std of all rewards. Ours: mean and std by token."""
    apart = 0.0
    for case, outcome in ours.pairs("dapo, scale batch"):
        rewards = np.array(case["rewards"])
        centred = rewards - rewards.mean(1, keepdims=True)
        close(outcome["advantages"], (centred / (rewards.std(ddof=1) + 1e-4)).ravel())
        whitening = make_objective("reinforce_pp_baseline", mask_truncated=False)
        found = np.array(ours.our_advantages(whitening, case, {}))
        by_token = found[token_answer(case)]
        assert by_token.mean() == pytest.approx(0, abs=1e-9)
        assert by_token.std() == pytest.approx(1)
        apart = max(apart, np.abs(found - outcome["advantages"]).max())
    assert apart > 0.3


def test_a_policy_that_went_e30_away_explodes_in_trl_and_is_left_alone_here() -> None:
    ((_, result, outcome),) = both("dapo, far")
    assert max(np.abs(outcome["gradient"])) > 1e11
    assert result.gradient[0] == 0
    close(result.gradient[1:], outcome["gradient"][1:])


def test_a_two_sided_bound_within_the_clip_also_cuts_right_answers_in_trl() -> None:
    """Equal from delta >= 1 + epsilon_high on, as TRL recommends; make no use of less."""
    differ = 0
    for case, result, outcome in both("grpo, two-sided under the clip"):
        ratio = np.exp(np.array(case["current"]) - case["first"])
        inside = (ratio > 1.1) & (ratio <= 1.2)
        of_trl = np.array(outcome["gradient"])
        close(result.gradient[~inside], of_trl[~inside])
        credit = np.array(outcome["advantages"])[token_answer(case)]
        right, wrong = inside & (credit > 0), inside & (credit < 0)
        assert not of_trl[right].any() and (result.gradient[right] != 0).all()
        assert not result.gradient[wrong].any() and (of_trl[wrong] != 0).all()
        differ += inside.any()
    assert differ >= 5


def test_trl_without_a_correction_forgets_what_the_sampler_recorded() -> None:
    """Its old policy is the learner's recomputation; ours is always who really sampled."""
    for (_, outcome), (_, plain) in zip(
        ours.pairs("dapo, uncorrected sampler"), ours.pairs("dapo"), strict=True
    ):
        assert outcome["gradient"] == plain["gradient"]
    for case, result, outcome in both("dapo, uncorrected sampler"):
        assert np.abs(result.gradient - outcome["gradient"]).max() > 1e-4
        again = {**case, "first": case["sampled"]}
        objective = ours.objective_of("dapo")
        close(ours.score(objective, again, outcome, {}).gradient, result.gradient)


def test_an_adaptive_entropy_bonus_pays_nothing_in_trls_first_step() -> None:
    bonus = make_bonus(0.05, 0.2, None)
    assert bonus.paid == 0.05
    assert bonus.observe(0.3).paid == 0.0
    for case, result, outcome in both("dapo, adaptive entropy"):
        assert not np.any(outcome["entropy_gradient"])
        close(result.entropy_gradient, -0.05 / sum(case["lengths"]))


def test_rloo_here_counts_tokens_against_the_budget_and_trl_answers() -> None:
    """On the first update TRL's gradient is ours times L. Later TRL's ratio is a product."""
    for case, result, outcome in both("rloo, first update"):
        close(result.gradient * case["budget"], outcome["gradient"])
        assert outcome["loss"] == pytest.approx(-np.mean(outcome["advantages"]), abs=SAME)


def test_a_kl_weighted_by_the_mean_of_an_answer_is_refused() -> None:
    with pytest.raises(UsageError, match="kl_weighted needs the ratio of each token"):
        make_objective("gspo", kl=0.1, kl_weighted=True)


def test_sequence_ratios_with_token_sums_are_refused() -> None:
    """TRL warns of them, and goes on."""
    for reduce in ("per_token", "per_budget"):
        with pytest.raises(UsageError, match="only the reduction 'per_sequence' counts once"):
            make_objective("gspo", reduce=reduce)
