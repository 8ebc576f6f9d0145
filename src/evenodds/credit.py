"""Rewards of one group become advantages: who in the group did better than the group.

Every function takes the rewards of the judged answers of one group, [G] float64, and returns
advantages of the same shape. A group of one, or one whose rewards differ by less than
`domain.SAME_REWARD`, gets exactly 0 (but for `raw`, which compares with nothing), and
`Group.is_informative` says the same of it. The comparison comes before any division, because float
residue divided by itself is not small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import SAME_REWARD, differ

LARGE = 1e3  # times what rewards differ by: below it nothing that matters is rounded away

Rewards = NDArray[np.float64]
Credit = Callable[[Rewards], Rewards]


def raw(rewards: Rewards) -> Rewards:
    """A = r: no baseline, so that groups which agree have a gradient too. REINFORCE."""
    return rewards.astype(np.float64)


def shifted(rewards: Rewards) -> Rewards:
    """The rewards, less the smallest where they are large for what they differ by.

    What is compared within a group is the same, and its mean is not lost in rounding: rewards of
    1e9 and 1e9 + 1e-5 had advantages that summed to 0.1 after a division by their spread.
    """
    low = rewards.min(initial=np.inf)
    return rewards - low if abs(low) > LARGE * np.ptp(rewards) else rewards


def centered(rewards: Rewards) -> Rewards:
    """A = r - mean(r). Dr. GRPO, arXiv 2503.20783."""
    if not differ(rewards):
        return np.zeros_like(rewards)
    near = shifted(rewards)
    return near - near.mean()


def standardized(rewards: Rewards, ddof: int = 0, delta: float = 0.0) -> Rewards:
    """A = (r - mean(r)) / (std(r) + delta). GRPO, DeepSeekMath arXiv 2402.03300 section 4.1.

    ddof 0 is the population std, with which one success among G gives sqrt(G - 1).
    """
    deviation = centered(rewards)
    if not deviation.any():
        return deviation
    std = float(shifted(rewards).std(ddof=ddof))
    return deviation if std < SAME_REWARD else deviation / (std + delta)


def standardized_sample(rewards: Rewards) -> Rewards:
    """As `standardized` with the sample std and a floor of 1e-4, as TRL has it."""
    return standardized(rewards, ddof=1, delta=1e-4)


def leave_one_out(rewards: Rewards) -> Rewards:
    """A_i = r_i - mean of the others = G/(G-1) (r_i - mean). RLOO, arXiv 2402.14740."""
    size = rewards.size
    return centered(rewards) * (size / (size - 1)) if size > 1 else np.zeros_like(rewards)


def mean_normalized(rewards: Rewards) -> Rewards:
    """A = (r - mean(r)) / |mean(r)|, and 0 where the mean is 0. MaxRL.

    MaxRL has rewards of 0 and 1, whose mean is never negative. Of a negative mean the size is
    taken, so that the better answer keeps the positive advantage: (-1, 0) gives (-1, 1).
    """
    mean = float(rewards.mean()) if rewards.size else 0.0
    deviation = centered(rewards)
    return np.zeros_like(rewards) if abs(mean) < SAME_REWARD else deviation / abs(mean)


def whitened(values: Rewards, weights: Rewards) -> Rewards:
    """(A - mean) / std over a whole batch, each answer weighing as many as its tokens.

    values, weights: [answers] advantages, and tokens in the loss. The std is the population's;
    where all with tokens agree the result is exactly 0. REINFORCE++, arXiv 2501.03262.
    """
    if not differ(values[weights > 0]):
        return np.zeros_like(values)
    values = shifted(values)
    deviation = values - np.average(values, weights=weights)
    std = float(np.sqrt(np.average(deviation**2, weights=weights)))
    return deviation if std < SAME_REWARD else deviation / std


CREDITS: dict[str, Credit] = {
    "raw": raw,
    "centered": centered,
    "standardized": standardized,
    "standardized_sample": standardized_sample,
    "leave_one_out": leave_one_out,
    "mean_normalized": mean_normalized,
}
