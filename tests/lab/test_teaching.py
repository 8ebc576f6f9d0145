"""The teaching functions on the golden numbers, and against the torch code that trains."""

from __future__ import annotations

import doctest
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds import lab, statistics
from evenodds.credit import CREDITS
from evenodds.domain import Completion, Extent, Problem
from evenodds.errors import UsageError
from evenodds.lab import (
    categorical_entropy,
    clip_activity,
    clipped_surrogate_terms,
    dapo_token_weights,
    dr_grpo_token_weights,
    expected_draws_for_informative_groups,
    flatten_token_weights,
    group_relative_advantages,
    grpo_token_weights,
    informative_group_probability,
    pass_at_k,
    pass_at_k_independent,
    response_contributions,
    teaching,
    verify_numeric_answer,
)
from evenodds.objectives.ratio import Tokens
from evenodds.objectives.reduce import per_answer, per_budget, per_token
from evenodds.objectives.surrogate import Clip, activity
from evenodds.verifiers.number import number

RATIOS, SIGNS = [1.35, 0.85, 1.10, 0.70], [1.0, 1.0, -1.0, -1.0]
REWARDS, LENGTHS, BUDGET = [1, 0, 1], [2, 5, 8], 8
STANDARDIZED = group_relative_advantages(REWARDS)
CENTERED = group_relative_advantages(REWARDS, standardize=False)


def near(values, digits=4):
    return pytest.approx(values, abs=0.5 * 10**-digits)


# --- golden numbers


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
def test_informative_groups(p, chance, draws):
    assert informative_group_probability(p, 8) == near(chance)
    assert expected_draws_for_informative_groups(p, 8, 100) == near(draws, 2)


def test_pass_at_k_and_its_namesake_for_a_known_rate():
    assert pass_at_k(10, 3, 4) == pytest.approx(1 - math.comb(7, 4) / math.comb(10, 4))
    assert pass_at_k(4, 3, 2) == 1.0
    assert pass_at_k_independent(0.3, 4) == pytest.approx(1 - 0.7**4)


def test_advantages():
    assert group_relative_advantages([1, 1, 0, 0]).tolist() == [1, 1, -1, -1]
    centred = group_relative_advantages([1, 1, 0, 0], standardize=False)
    assert centred.tolist() == [0.5, 0.5, -0.5, -0.5]
    sample = group_relative_advantages([1, 1, 0, 0], ddof=1, delta=1e-4)
    assert sample == pytest.approx(np.array([1, 1, -1, -1]) * 0.5 / (math.sqrt(1 / 3) + 1e-4))
    assert group_relative_advantages([1, 0, 0, 0, 0]) == pytest.approx([2, -0.5, -0.5, -0.5, -0.5])


@pytest.mark.parametrize("standardize", [True, False])
def test_noise_in_the_rewards_is_no_success(standardize):
    noisy = group_relative_advantages([0.5, 0.5, 0.5, 0.5 + 1e-7], standardize)
    assert noisy.tolist() == [0, 0, 0, 0]


def test_clipped_surrogate():
    terms = clipped_surrogate_terms(RATIOS, SIGNS, 0.2, 0.2)
    assert terms == pytest.approx([1.2, 0.85, -1.1, -0.8])
    assert clip_activity(RATIOS, SIGNS, 0.2, 0.2).tolist() == [True, False, False, True]


def test_the_clip_is_active_only_where_it_cuts_the_gradient():
    ratios, low, high = [0.5, 2.0, 0.5, 2.0, 0.5, 2.0], 0.2, 0.28
    active = clip_activity(ratios, [1, 1, -1, -1, 0, 0], low, high)
    assert active.tolist() == [False, True, True, False, False, False]
    assert clip_activity([1.25, 1.29], [1, 1], low, high).tolist() == [False, True]


@pytest.mark.parametrize(
    ("weights", "sums", "absolute"),
    [
        (grpo_token_weights(STANDARDIZED, LENGTHS), (0.2357, -0.4714, 0.2357), 0.9428),
        (dr_grpo_token_weights(CENTERED, LENGTHS, BUDGET), (0.0278, -0.1389, 0.1111), 0.2778),
        (dapo_token_weights(STANDARDIZED, LENGTHS), (0.0943, -0.4714, 0.3771), 0.9428),
        (dapo_token_weights(CENTERED, LENGTHS), (0.0444, -0.2222, 0.1778), 0.4444),
    ],
)
def test_token_weights(weights, sums, absolute):
    found = response_contributions(weights)
    assert found.per_answer == near(sums)
    assert found.absolute == near(absolute)
    assert [len(row) for row in weights] == LENGTHS
    assert all(np.ptp(row) == 0 for row in weights)
    flat = flatten_token_weights(weights)
    assert flat.shape == (15,)
    assert flat[[0, 2, 7]].tolist() == [row[0] for row in weights]
    assert np.abs(flat).sum() == near(absolute)


@pytest.mark.parametrize(
    ("p", "centred", "standardised"),
    [
        (0.01, 0.0173, 0.0517),
        (0.05, 0.0831, 0.2349),
        (0.1, 0.1575, 0.4190),
        (0.25, 0.3281, 0.7598),
        (0.5, 0.4375, 0.9278),
    ],
)
def test_mean_size_of_an_advantage(p, centred, standardised):
    chances = [math.comb(8, c) * p**c * (1 - p) ** (8 - c) for c in range(9)]
    groups = [np.arange(8) < c for c in range(9)]
    for standardize, golden in ((False, centred), (True, standardised)):
        sizes = [np.abs(group_relative_advantages(g, standardize)).mean() for g in groups]
        assert np.dot(chances, sizes) == near(golden)


def test_accumulation():
    lengths, advantages = [2, 2, 10, 50], [1, 1, -1, -1]
    halves = [slice(0, 2), slice(2, 4)]
    whole = response_contributions(dapo_token_weights(advantages, lengths)).per_answer
    golden = [-0.03125, -0.03125, 0.15625, 0.78125]
    assert (-whole).tolist() == golden
    split, averaged = [], []
    for half in halves:
        part = advantages[half], lengths[half]
        split += [*response_contributions(dapo_token_weights(*part, tokens=64)).per_answer]
        averaged += [*response_contributions(dapo_token_weights(*part)).per_answer / 2]
    assert (-np.array(split)).tolist() == golden
    assert -np.array(averaged) == pytest.approx([-0.25, -0.25, 1 / 12, 5 / 12])
    assert averaged / whole == pytest.approx([8, 8, 8 / 15, 8 / 15])


@pytest.mark.parametrize("weigh", [grpo_token_weights, dr_grpo_token_weights])
def test_the_weights_of_answers_do_not_depend_on_the_split(weigh):
    extra = (BUDGET,) if weigh is dr_grpo_token_weights else ()
    whole = weigh(CENTERED, LENGTHS, *extra)
    parts = [weigh(CENTERED[i : i + 1], LENGTHS[i : i + 1], *extra, answers=3) for i in range(3)]
    np.testing.assert_array_equal(
        flatten_token_weights(whole), np.concatenate([flatten_token_weights(p) for p in parts])
    )


VERIFIER = [
    ("First \\boxed{2}, then corrected: \\boxed{3}", "3", True),
    ("First \\boxed{2}, then corrected: \\boxed{3}", 2, False),
    ("Final: \\boxed{3/7}", "0.428571", True),
    ("Final: \\boxed{3/7}", 0.428571, True),
    ("Final: \\boxed{3/7}", Fraction(3, 7), True),
    ("Final: \\boxed{3/7}", "0.42857", False),
    ("\\\\boxed{42}", 42, True),
    ("the reference number 42 is mentioned, but the answer is 41", "42", False),
    ("1/0", "0", False),
    ("no number", 5, False),
    ("", 5, False),
]


@pytest.mark.parametrize(("text", "gold", "right"), VERIFIER)
def test_verifier_cases(text, gold, right):
    assert verify_numeric_answer(text, gold) is right
    judged = number(Problem("key", "", str(gold), "task"), Completion(text))
    assert judged.score == float(right)


@pytest.mark.parametrize("gold", ["", "nan", "x + 1", math.inf])
def test_a_gold_that_is_no_number_is_refused(gold):
    with pytest.raises(UsageError, match=r"gold answer is not a number\. Got .*\. Give a number"):
        verify_numeric_answer("5", gold)


def test_entropy():
    assert categorical_entropy([0.5, 0.5]) == pytest.approx(math.log(2))
    assert categorical_entropy([0.5, 0.25, 0.25]) == pytest.approx(1.5 * math.log(2))
    assert categorical_entropy([0, 1]) == 0
    assert categorical_entropy([0, 0.5, 0.5]) == categorical_entropy([0.5, 0.5])
    logits = torch.randn(50_000, generator=torch.manual_seed(0))
    of_torch = float(torch.distributions.Categorical(logits=logits.double()).entropy())
    assert categorical_entropy(logits.softmax(0).numpy()) == pytest.approx(of_torch, rel=1e-5)


# --- one formula, one place


def test_the_four_of_statistics_are_the_same_functions():
    for name in lab.EXPORTS["evenodds.statistics"]:
        assert getattr(lab, name) is getattr(statistics, name)


def test_every_export_is_there_and_documented():
    assert set(dir(lab)) == set(lab.HOMES)
    for name in lab.HOMES:
        assert getattr(lab, name).__doc__, name
    with pytest.raises(AttributeError):
        _ = lab.not_there


def test_examples_in_the_docstrings():
    found = doctest.testmod(teaching)
    assert (found.failed, found.attempted >= 15) == (0, True)


def test_the_lab_opens_without_torch():
    code = (
        "import sys, evenodds.lab as lab; assert 'numpy' not in sys.modules;"
        "[getattr(lab, name) for name in dir(lab)]; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(rewards=st.lists(st.integers(-4, 4), min_size=1, max_size=16), ddof=st.sampled_from([0, 1]))
def test_advantages_are_those_of_the_credit(rewards, ddof):
    values = np.array(rewards, dtype=np.float64)
    same = np.testing.assert_array_equal
    same(group_relative_advantages(rewards), CREDITS["standardized"](values))
    same(group_relative_advantages(rewards, standardize=False), CREDITS["centered"](values))
    trl = group_relative_advantages(rewards, ddof=1, delta=1e-4)
    same(trl, CREDITS["standardized_sample"](values))


def make_tokens(logprobs, advantages, lengths):
    """Answers of these lengths, sampled by a policy with log-probabilities of 0."""
    sizes = torch.tensor(lengths)
    rollout = torch.arange(len(lengths)).repeat_interleave(sizes)
    old, credit = torch.zeros_like(logprobs), torch.tensor(advantages, dtype=logprobs.dtype)
    return Tokens(logprobs, old, credit, rollout, sizes)


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(
        st.tuples(st.floats(-1, 1), st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.5])),
        min_size=1,
        max_size=30,
    ),
    low=st.sampled_from([0.0, 0.1, 0.2, 1.0]),
    high=st.sampled_from([0.0, 0.28, 3.0]),
)
def test_surrogate_and_activity_are_those_of_the_learner(cells, low, high):
    logprobs = torch.tensor([cell[0] for cell in cells], dtype=torch.float64, requires_grad=True)
    advantages = [cell[1] for cell in cells]
    tokens = make_tokens(logprobs, advantages, [len(cells)])
    ratios = logprobs.detach().exp().numpy()
    log_ratio = logprobs - tokens.old_logprobs
    value = Clip(low, high)(log_ratio, tokens)
    terms = clipped_surrogate_terms(ratios, advantages, low, high)
    np.testing.assert_allclose(terms, value.detach().numpy(), rtol=1e-12)
    cut = clip_activity(ratios, advantages, low, high)
    assert cut.tolist() == activity(Clip(low, high), log_ratio.detach(), tokens).tolist()
    (slope,) = torch.autograd.grad(value.sum(), logprobs)
    inside = (ratios > 1 - low + 1e-9) & (ratios < 1 + high - 1e-9)
    outside = (ratios < 1 - low - 1e-9) | (ratios > 1 + high + 1e-9)
    sure = (inside | outside) & (np.array(advantages) != 0)
    assert ((slope == 0).numpy() == cut)[sure].all()


@settings(max_examples=60, deadline=None)
@given(
    answers=st.lists(
        st.tuples(st.sampled_from([-1.5, -1.0, 0.5, 2.0]), st.integers(1, 12)),
        min_size=1,
        max_size=6,
    )
)
def test_token_weights_are_the_gradients_of_the_learner(answers):
    advantages, lengths = [a for a, _ in answers], [n for _, n in answers]
    flat = [a for a, n in answers for _ in range(n)]
    extent = Extent(sum(lengths), len(lengths), 16)
    pairs = [
        (per_answer, grpo_token_weights(advantages, lengths)),
        (per_budget, dr_grpo_token_weights(advantages, lengths, 16)),
        (per_token, dapo_token_weights(advantages, lengths)),
    ]
    for reduce, weights in pairs:
        logprobs = torch.zeros(sum(lengths), dtype=torch.float64, requires_grad=True)
        tokens = make_tokens(logprobs, flat, lengths)
        value = Clip()(logprobs - tokens.old_logprobs, tokens)
        (gradient,) = torch.autograd.grad((reduce(tokens, extent) * value).sum(), logprobs)
        np.testing.assert_allclose(flatten_token_weights(weights), gradient.numpy(), rtol=1e-12)


# --- input that makes no sense


NAN = math.nan
REFUSED = [
    lambda: group_relative_advantages([]),
    lambda: group_relative_advantages([1, NAN]),
    lambda: group_relative_advantages([1, math.inf]),
    lambda: group_relative_advantages([[1, 0], [0, 1]]),
    lambda: group_relative_advantages([[1, 0], [1]]),
    lambda: group_relative_advantages("10"),
    lambda: group_relative_advantages([1, 0], ddof=2),
    lambda: group_relative_advantages([1, 0], delta=-1e-4),
    lambda: group_relative_advantages([1, 0], delta=NAN),
    lambda: group_relative_advantages([1, 0], standardize=False, ddof=1),
    lambda: clipped_surrogate_terms([], []),
    lambda: clipped_surrogate_terms([1, 1], [1]),
    lambda: clipped_surrogate_terms([1, NAN], [1, 1]),
    lambda: clipped_surrogate_terms([1, -0.1], [1, 1]),
    lambda: clipped_surrogate_terms([[1]], [[1]]),
    lambda: clipped_surrogate_terms([1], [1], low=1.2),
    lambda: clip_activity([1], [NAN]),
    lambda: clip_activity([1], [1], high=-0.1),
    lambda: clip_activity([1], [1], high=NAN),
    lambda: grpo_token_weights([], []),
    lambda: grpo_token_weights([1, -1], [3]),
    lambda: grpo_token_weights([1, NAN], [3, 4]),
    lambda: grpo_token_weights([1, -1], [3, 0]),
    lambda: grpo_token_weights([1, -1], [3, 2.5]),
    lambda: grpo_token_weights([1, -1], [3, 4], answers=1),
    lambda: dr_grpo_token_weights([1, -1], [3, 9], 8),
    lambda: dr_grpo_token_weights([1, -1], [3, 4], NAN),
    lambda: dapo_token_weights([1, -1], [3, 4], tokens=6),
    lambda: response_contributions([]),
    lambda: response_contributions([[1], []]),
    lambda: response_contributions([[1], [NAN]]),
    lambda: flatten_token_weights([]),
    lambda: flatten_token_weights([1.0, 2.0]),
    lambda: categorical_entropy([]),
    lambda: categorical_entropy([0.5, 0.4]),
    lambda: categorical_entropy([0.5, 0.5 + 2e-6]),
    lambda: categorical_entropy([1.5, -0.5]),
    lambda: categorical_entropy([NAN, 1]),
    lambda: categorical_entropy([[0.5, 0.5]]),
    lambda: teaching.categorical_entropies([0.5, 0.5]),
    lambda: pass_at_k(4, 5, 2),
    lambda: pass_at_k_independent(NAN, 2),
    lambda: informative_group_probability(1.1, 8),
    lambda: expected_draws_for_informative_groups(0.5, 8, -1),
]


@pytest.mark.parametrize("call", REFUSED, ids=range(len(REFUSED)))
def test_bad_input_is_refused_in_one_line(call):
    with pytest.raises(UsageError, match=r"Got ") as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_inputs_are_not_written():
    rewards, weights = np.array([1.0, 0.0]), [np.array([0.5, -0.5])]
    group_relative_advantages(rewards)
    flatten_token_weights(weights)[0] = 9.0
    clipped_surrogate_terms(rewards, rewards)
    assert (rewards.tolist(), weights[0].tolist()) == ([1, 0], [0.5, -0.5])
