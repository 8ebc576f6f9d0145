"""Random batches on which TRL and evenodds are compared, and how they are written down.

No torch, no TRL: the same cases are read by the script that makes the goldens and by the tests.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

DECIMALS = 4  # inputs are short decimals, so that JSON holds them exactly
BUDGET = 8  # max_completion_length


@dataclass(frozen=True)
class Case:
    """Groups of one size, and the log-probabilities of their n answer tokens, answer by answer.

    rewards: one list a group; None where every reward function gave None.
    lengths, truncated: one entry an answer. current, sampled, first, reference, entropy: [n];
    `sampled` is what the sampler recorded, `first` the learner's own before its first update.
    """

    rewards: list[list[float | None]]
    lengths: list[int]
    truncated: list[bool]
    current: list[float]
    sampled: list[float]
    first: list[float]
    reference: list[float]
    entropy: list[float]
    budget: int = BUDGET

    @property
    def group_size(self) -> int:
        return len(self.rewards[0])

    @property
    def starts(self) -> list[int]:
        """Where each answer begins among the tokens."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).tolist()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _rewards(rng: np.random.Generator, size: int) -> list[float]:
    """Right or wrong, graded in sixteenths (TRL holds rewards in float32), or all equal."""
    kind = rng.integers(4)
    if kind == 0:
        return [float(rng.integers(2))] * size
    if kind == 1:
        return (rng.integers(-16, 33, size) / 16).tolist()
    return rng.integers(0, 2, size).astype(float).tolist()


def _moved(rng: np.random.Generator, logprobs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same tokens under a policy that moved: mostly a little, one token in six a lot."""
    scale = np.where(rng.random(logprobs.size) < 1 / 6, 1.2, 0.15)
    return np.minimum(logprobs + rng.normal(0, 1, logprobs.size) * scale, -0.01)


def random_case(rng: np.random.Generator, kind: str = "whole") -> Case:
    """2 to 4 groups of 2, 4 or 6 answers of 1 to 8 tokens.

    kind: in "truncated" full answers may be cut, in "unjudged" some have no reward.
    """
    groups, size = int(rng.integers(2, 5)), int(rng.choice([2, 4, 6]))
    lengths = rng.integers(1, BUDGET + 1, groups * size)
    cut = (rng.random(lengths.size) < 0.5) & (kind == "truncated")
    cut[0] = False  # an answer stays, whatever else is cut
    lengths = np.where(cut, BUDGET, lengths)
    current = -rng.gamma(1.5, 0.8, int(lengths.sum())) - 0.01
    first = _moved(rng, current)
    arrays = {
        "current": current,
        "first": first,
        "sampled": np.minimum(first + rng.normal(0, 0.25, first.size), -0.01),
        "reference": _moved(rng, current),
        "entropy": rng.gamma(2.0, 0.5, current.size),
    }
    rewards: list[list[float | None]] = [_rewards(rng, size) for _ in range(groups)]
    rewards[0][:2] = [1.0, 0.0]  # one group has a signal
    if kind == "unjudged":
        rewards = [[None if rng.random() < 0.3 else r for r in group] for group in rewards]
    return Case(
        rewards=rewards,
        lengths=lengths.tolist(),
        truncated=cut.tolist(),
        **{name: values.round(DECIMALS).tolist() for name, values in arrays.items()},
    )


def far_case() -> Case:
    """One group, fixed: an answer whose first token became e^30 times as likely, and is wrong."""
    current = [-0.5, -1.0, -0.5, -1.0, -0.5, -1.0, -0.5, -1.0]
    first = [-30.5, *current[1:]]
    return Case(
        rewards=[[0.0, 1.0, 0.5, 1.0]],
        lengths=[2, 2, 2, 2],
        truncated=[False] * 4,
        current=current,
        sampled=first,
        first=first,
        reference=current,
        entropy=[1.0] * 8,
    )


def noisy_case() -> Case:
    """As `far_case`, but on-policy, and with rewards that differ by one bit of float32."""
    far = far_case()
    noise = [[0.5, 0.5, 0.5, 0.5 + 2**-24]]
    return replace(far, rewards=noise, first=far.current, sampled=far.current)
