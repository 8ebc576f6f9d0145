import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.curricula import Ladder, load_curriculum, make_curriculum
from evenodds.domain import Status, Verdict
from evenodds.errors import UsageError
from tests.curricula.simulated_learners import Learner, Source, follow, group, scored

TASK = Source(8)
TIMEOUT = Verdict(0.0, Status.TIMEOUT)


def counts(problems, levels=8):
    return np.bincount([problem.level for problem in problems], minlength=levels)


# --- even odds

# logits a level: from a ladder whose levels are hard to tell apart to one that is nearly a step
SLOPES = [0.6, 1.5, 4.0]


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("pace", [0.0, 0.03, 0.06])
def test_holds_even_odds_while_the_learner_learns(slope, pace):
    ladder = Ladder(Source(40))
    trace = follow(ladder, Learner(slope, ability=3.0, pace=pace), steps=200, seed=1)
    half = np.array(trace.rates[100:])
    assert abs(half.mean() - 0.5) <= 0.07
    assert half.std() <= 0.07
    if pace:
        assert trace.difficulties[-1] > trace.difficulties[99] + 2


def test_a_fast_learner_is_held_above_the_target_as_far_as_the_formula_says():
    ladder = Ladder(Source(60))
    trace = follow(ladder, Learner(0.6, ability=3.0, pace=0.12), steps=200, seed=6)
    pace = (trace.difficulties[-1] - trace.difficulties[99]) / 100
    assert np.mean(trace.rates[100:]) == pytest.approx(0.5 + math.atanh(pace / 0.5) / 2, abs=0.02)


@pytest.mark.parametrize("slope", SLOPES)
def test_recovers_after_a_collapse(slope):
    learner = Learner(slope, ability=6.0)
    trace = follow(Ladder(Source(40)), learner, steps=200, seed=2, collapse_at=100)
    assert trace.rates[100] < 0.25
    assert abs(np.mean(trace.rates[112:132]) - 0.5) <= 0.07
    assert abs(np.mean(trace.rates[150:]) - 0.5) <= 0.07


def test_small_batches_hold_too():
    trace = follow(Ladder(Source(40)), Learner(1.5), steps=300, seed=3, groups=8, size=4)
    assert abs(np.mean(trace.rates[150:]) - 0.5) <= 0.07


@pytest.mark.parametrize("target", [0.3, 0.7])
def test_holds_another_target(target):
    ladder = Ladder(Source(40), target=target)
    trace = follow(ladder, Learner(1.5), steps=200, seed=4)
    assert abs(np.mean(trace.rates[100:]) - target) <= 0.07


def test_the_frontier_is_held_whatever_the_share_of_review():
    ladder = Ladder(Source(40), difficulty=6.0, review=0.25)
    learner, rng, rates = Learner(1.5, ability=6.0, pace=0.0), np.random.default_rng(5), []
    for _ in range(120):
        ladder = ladder.observe(learner.answer(ladder.propose(32, rng), 8, rng))
        rates.append(ladder.metrics()["solve_rate"])
    assert abs(np.mean(rates[60:]) - 0.5) <= 0.07


# --- one step


@pytest.mark.parametrize("right", range(9))
def test_one_step_is_the_formula(right):
    ladder = Ladder(TASK, difficulty=3.25, gain=0.4, sharpness=3.0)
    moved = ladder.observe([scored(3, right)])
    assert moved.difficulty == 3.25 + 0.4 * math.tanh(3.0 * (right / 8 - 0.5))
    assert ladder.difficulty == 3.25


def test_both_ends_clamp():
    low, high = Ladder(TASK), Ladder(TASK, difficulty=7.0)
    assert low.observe([scored(0, 0)]).difficulty == 0.0
    assert high.observe([scored(7, 8)]).difficulty == 7.0
    assert counts(high.propose(16, np.random.default_rng(0)))[7] == 16


def test_a_single_level_is_a_ladder():
    ladder = Ladder(Source(1))
    for right in (0, 8, 3):
        ladder = ladder.observe([scored(0, right)])
        assert ladder.difficulty == 0.0
        assert counts(ladder.propose(5, np.random.default_rng(0)), 1).tolist() == [5]


def test_groups_count_alike_and_only_judged_answers_count():
    cut = group(3, [*scored(3, 1, 1).verdicts, *scored(3, 0, 1).verdicts, TIMEOUT, TIMEOUT])
    ladder = Ladder(TASK, difficulty=3.0).observe([cut, scored(3, 8, 8)])
    assert ladder.metrics()["solve_rate"] == 0.75


def test_the_status_counts_and_not_the_reward():
    paid = [Verdict(-3.0, Status.RIGHT), Verdict(100.0, Status.WRONG)]
    assert Ladder(TASK, difficulty=3.0).observe([group(3, paid)]).difficulty == 3.0


@pytest.mark.parametrize("groups", [[], [group(3, [TIMEOUT] * 4)]])
def test_nothing_judged_changes_nothing(groups):
    ladder = Ladder(TASK, difficulty=3.0).observe([scored(3, 2)])
    assert ladder.observe(groups) == ladder


def test_a_batch_of_review_alone_does_not_steer():
    ladder = Ladder(TASK, difficulty=3.0, review=0.5).observe([scored(1, 8)])
    assert ladder.difficulty == 3.0
    assert ladder.metrics() == {"difficulty": 3.0, "solve_rate/L1": pytest.approx(2 / 3)}


# --- proposals


@settings(max_examples=50)
@given(
    difficulty=st.floats(0, 7), review=st.floats(0, 0.9), n=st.integers(1, 64), seed=st.integers(0)
)
def test_proposals_follow_the_weights_to_within_one(difficulty, review, n, seed):
    ladder = Ladder(TASK, difficulty=difficulty, review=review)
    assert sum(ladder.weights) == pytest.approx(1.0)
    frontier = np.dot(ladder.weights[ladder.floor :], range(ladder.floor, 8))
    share = sum(ladder.weights[ladder.floor :])
    assert frontier / share == pytest.approx(difficulty)
    proposed = counts(ladder.propose(n, np.random.default_rng(seed % 2**32)))
    assert proposed.sum() == n
    assert np.all(np.abs(proposed - n * np.array(ladder.weights)) < 1 + 1e-9)


def test_mean_level_is_the_difficulty():
    ladder, rng = Ladder(TASK, difficulty=2.3), np.random.default_rng(0)
    means = [np.mean([p.level for p in ladder.propose(7, rng)]) for _ in range(2000)]
    assert np.mean(means) == pytest.approx(2.3, abs=0.01)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("difficulty", 7.5),
        ("difficulty", -0.1),
        ("difficulty", math.nan),
        ("target", 1.0),
        ("target", "half"),
        ("gain", 0),
        ("gain", True),
        ("sharpness", math.inf),
        ("review", 0.95),
        ("half_life", 0),
    ],
)
def test_refuses_a_bad_setting_in_one_line(name, value):
    with pytest.raises(UsageError) as caught:
        make_curriculum("ladder", TASK, **{name: value})
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=50)
@given(
    difficulty=st.floats(0, 7),
    batches=st.lists(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 8)), max_size=6)),
)
def test_saved_and_loaded_is_the_same(difficulty, batches):
    ladder = Ladder(TASK, difficulty=difficulty, review=0.1)
    for batch in batches:
        ladder = ladder.observe([scored(*each) for each in batch])
        assert 0 <= ladder.difficulty <= 7
    saved = json.loads(json.dumps(ladder.to_dict(), allow_nan=False))
    assert load_curriculum(saved, TASK) == ladder
