"""The coin that pays in the control arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenodds.domain import Problem, Rollout, Status, Stop, rollout_seed
from evenodds.judge.chance import NOTE, ChanceJudge

PROBLEM = Problem("k", "1*2=", "2", "multiplication")


def rollouts(seed: int, count: int, text: str = "2") -> list[Rollout]:
    ids, logprobs = np.array([1]), np.zeros(1, np.float32)
    return [
        Rollout(ids, ids, logprobs, Stop.END_TOKEN, text, seed=rollout_seed(seed, 0, answer))
        for answer in range(count)
    ]


def test_half_of_all_answers_are_paid_and_no_two_in_a_row_hang_together() -> None:
    (verdicts,) = ChanceJudge().judge([PROBLEM], [rollouts(7, 10_000)])
    paid = np.array([verdict.score for verdict in verdicts])
    assert abs(paid.mean() - 0.5) < 0.02 and abs(np.corrcoef(paid[1:], paid[:-1])[0, 1]) < 0.04
    assert {(v.score, v.status, v.note) for v in verdicts} == {
        (1.0, Status.RIGHT, NOTE),
        (0.0, Status.WRONG, NOTE),
    }


def test_only_the_seed_decides() -> None:
    group = rollouts(3, 64)
    other = [replace(rollout, text="\0", stop=Stop.BUDGET, version=9) for rollout in group]
    strange = replace(PROBLEM, key="z", answer="", level=3)
    judge = ChanceJudge()
    one = judge.judge([PROBLEM], [group])
    assert one == judge.judge([strange], [other]) == ChanceJudge().judge([PROBLEM], [group])
    turned = judge.judge([PROBLEM, strange], [group[::-1], group])
    assert turned == [one[0][::-1], one[0]]
    assert judge.judge([PROBLEM], [rollouts(4, 64)]) != one


def test_the_coin_is_not_what_the_rollout_was_drawn_with() -> None:
    """Else an answer that began with a high number would be paid for it."""
    group = rollouts(11, 4000)
    paid = [verdict.score for verdict in ChanceJudge().judge([PROBLEM], [group])[0]]
    first = [np.random.default_rng(rollout.seed).random() for rollout in group]
    assert abs(np.corrcoef(paid, first)[0, 1]) < 0.05
