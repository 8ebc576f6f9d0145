"""The judge of the control arm: a coin pays, whatever the answer says.

What a policy gains under it is no gain by the reward. It comes from the objective's own pull (a
clip, a length that the budget cuts, entropy that falls), or from luck; so an arm with the real
verifier shows something only where it gains more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.domain import Problem, Rollout, Status, Verdict

NAME = "coin"  # in place of the verifier's, in records
NOTE = "paid by a coin"
COIN = 0xC01  # so that the coin shares no bits with what the rollout's seed draws


@dataclass(frozen=True)
class ChanceJudge:
    """Pays 1 with a chance of one half, by the seed of the rollout alone.

    Neither text nor problem is looked at. The same seed is always paid the same, so that a run
    which was stopped goes on as it would have.
    """

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]:
        return [[_by_coin(rollout.seed) for rollout in group] for group in rollouts]


def _by_coin(seed: int) -> Verdict:
    heads = np.random.SeedSequence([COIN, seed]).generate_state(1)[0] & 1
    if heads:
        return Verdict(1.0, Status.RIGHT, note=NOTE)
    return Verdict(0.0, Status.WRONG, note=NOTE)
