"""What a verifier gave comes back from a reward with the objective's penalties."""

from __future__ import annotations

import numpy as np
import pytest

from evenodds.domain import Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.objectives import make_objective, shaped, unshaped

OVERLONG = make_objective("dr_grpo", overlong=0.5, mask_truncated=False)


def group_of(*verdicts: Verdict) -> Group:
    """Answers that use 7 of 8 tokens: each is paid 0.75 less."""
    ids, limits = np.arange(7), Limits(8)
    logprobs = np.zeros(7, np.float32)
    rollout = Rollout(np.array([1]), ids, logprobs, Stop.END_TOKEN, "", limits=limits)
    return Group(Problem("k", "p", "a", "t"), [rollout] * len(verdicts), verdicts)


@pytest.mark.parametrize(
    ("score", "parts"), [(0.1, {}), (0.7, {"right": 0.5, "format": 0.2}), (0.3, {"kl": 0.3})]
)
def test_penalties_are_taken_out_again(score: float, parts: dict[str, float]) -> None:
    given = group_of(Verdict(score, Status.RIGHT, parts=parts), Verdict(0.0, Status.WRONG))
    found = shaped(given, OVERLONG).verdicts[0]
    assert found.score == pytest.approx(score - 0.75)
    plain = unshaped(found, OVERLONG)
    assert plain.score == pytest.approx(score, abs=1e-12)
    assert plain.parts == (parts or {"score": score})
    if not parts:
        assert plain.score == score  # to the last bit


def test_a_part_of_the_verifiers_own_that_is_called_like_a_penalty_stays() -> None:
    own = Verdict(0.3, Status.RIGHT, parts={"kl": 0.3})
    assert unshaped(own, OVERLONG) is own
