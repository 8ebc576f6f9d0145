"""Penalties in the reward: where the soft overlong one begins and ends, and what the KL counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenodds.batch import collate
from evenodds.domain import Group, Status, Verdict
from evenodds.objectives import make_objective, shaped
from evenodds.objectives.shaping import sequence_kl, soft_overlong
from tests.tiny import make_group, make_rollout


@pytest.mark.parametrize(
    ("length", "budget", "share", "expected"),
    [
        (0, 20480, 0.2, 0.0),
        (16384, 20480, 0.2, 0.0),  # L - Lc exactly
        (16385, 20480, 0.2, -1 / 4096),
        (18432, 20480, 0.2, -0.5),
        (20480, 20480, 0.2, -1.0),  # L
        (20481, 20480, 0.2, -1.0),  # above
        (10**9, 20480, 0.2, -1.0),
        (8, 10, 0.2, 0.0),
        (9, 10, 0.2, -0.5),
        (10, 10, 0.2, -1.0),
        (0, 10, 1.0, 0.0),  # the whole budget
        (3, 10, 1.0, -0.3),
        (10, 10, 1.0, -1.0),
        (0, 1, 0.5, 0.0),  # a budget of one token
        (1, 1, 0.5, -1.0),
        (1, 1, 1.0, -1.0),
        (2, 3, 0.01, 0.0),
        (3, 3, 0.01, -1.0),
        (2, 3, 1e-300, 0.0),  # a share that no token fits in
        (3, 3, 1e-300, -1.0),
    ],
)
def test_the_soft_overlong_penalty(length, budget, share, expected) -> None:
    assert soft_overlong(length, budget, share) == pytest.approx(expected, abs=1e-12)


@given(budget=st.integers(1, 10_000), share=st.floats(1e-3, 1.0), length=st.integers(0, 20_000))
def test_it_only_falls_and_stays_between_minus_1_and_0(budget, share, length) -> None:
    here, later = (soft_overlong(n, budget, share) for n in (length, length + 1))
    assert -1 <= later <= here <= 0
    assert soft_overlong(budget, budget, share) == soft_overlong(budget + 1, budget, share) == -1


def reference_rollout(gap: float, length: int = 3):
    rollout = make_rollout(length)
    return replace(rollout, reference_logprobs=rollout.logprobs - np.float32(gap))


def test_the_kl_of_an_answer_is_the_sum_over_its_tokens() -> None:
    assert sequence_kl(reference_rollout(0.5, 3)) == pytest.approx(1.5)
    assert sequence_kl(reference_rollout(-0.25, 8)) == pytest.approx(-2.0)
    with pytest.raises(ValueError, match="reference_logprobs"):
        sequence_kl(make_rollout(3))


def test_penalties_are_parts_of_the_reward_and_change_no_status() -> None:
    objective = make_objective(mask_truncated=False, overlong=0.5, kl=0.1, kl_in="reward")
    group = make_group([1, 0], [48, 3])
    rollouts = [reference_rollout(0.5, 48), reference_rollout(0.5, 3)]
    verdicts = [
        Verdict(1.0, Status.RIGHT, parts={"right": 0.8, "format": 0.2}),
        Verdict(0.0, Status.WRONG),
    ]
    after = shaped(Group(group.problem, rollouts, verdicts), objective).verdicts
    assert after[0].parts == pytest.approx(
        {"right": 0.8, "format": 0.2, "overlong": -0.5, "kl": -2.4}
    )
    assert after[1].parts == pytest.approx({"score": 0.0, "overlong": 0.0, "kl": -0.15})
    for verdict in after:
        assert verdict.score == pytest.approx(sum(verdict.parts.values()))
    assert [v.status for v in after] == [Status.RIGHT, Status.WRONG]


def test_what_could_not_be_judged_is_not_penalised() -> None:
    group = make_group([1, 0], [48, 3])
    verdicts = [Verdict(0.0, Status.TIMEOUT), group.verdicts[1]]
    objective = make_objective(mask_truncated=False, overlong=0.5)
    after = shaped(Group(group.problem, group.rollouts, verdicts), objective)
    assert after.verdicts[0] is verdicts[0]


def test_without_penalties_a_group_is_left_as_it_is() -> None:
    group = make_group([1, 0], [48, 3])
    assert shaped(group, make_objective(kl=0.1)) is group


def test_rounding_between_two_programs_is_no_distance() -> None:
    """At the first step policy and reference are one; a std would make full advantages of it."""
    rng = np.random.default_rng(0)
    objective = make_objective("grpo", kl=1.0, kl_in="reward")
    group = make_group([0, 0, 0, 0], [30, 20, 25, 40])
    rollouts = [
        replace(r, reference_logprobs=r.logprobs + rng.normal(0, 2e-6, r.ids.size).astype("f4"))
        for r in group.rollouts
    ]
    near = shaped(Group(group.problem, rollouts, group.verdicts), objective)
    assert not near.is_informative
    assert not collate([near], objective).prompts
    far = [replace(r, reference_logprobs=r.logprobs - np.float32(1e-3)) for r in group.rollouts]
    moved = shaped(Group(group.problem, far, group.verdicts), objective)
    assert moved.rewards == pytest.approx([-0.030, -0.020, -0.025, -0.040], rel=1e-3)
