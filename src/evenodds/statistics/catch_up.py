"""The number of tries at which the base solves as much as the trained policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenodds.statistics.checks import Values
from evenodds.statistics.estimate import Estimate


@dataclass(frozen=True)
class CatchUp:
    """Where the pass@k of the base reaches that of the trained policy.

    k: between two whole numbers by a straight line; None where it does not up to `most`.
    low, high: its 95 % interval; None is beyond `most`.
    """

    k: float | None
    low: float | None
    high: float | None
    most: int

    def __str__(self) -> str:
        """`at k = 5.3 [2.1, 11.8]`, or `not up to k = 16 [7.2, beyond 16]`."""
        low, high = (f"beyond {self.most}" if x is None else f"{x:.1f}" for x in self.ends)
        head = f"not up to k = {self.most}" if self.k is None else f"at k = {self.k:.1f}"
        return f"{head} [{low}]" if low == high else f"{head} [{low}, {high}]"

    @property
    def ends(self) -> tuple[float | None, float | None]:
        return self.low, self.high

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; null is beyond `most`."""
        return {"k": self.k, "low": self.low, "high": self.high, "most": self.most}


def catch_up(gains: Sequence[Estimate]) -> CatchUp | None:
    """The k at which the base catches up; None where the trained policy is not ahead at k = 1.

    gains: the differences trained - base of pass@1, pass@2, …, each with its paired interval.

    The interval is the set of those k at which the interval of the difference has zero in it (a
    test turned round, as Fieller's is): it holds the true k as often as those hold the true
    difference, and it has no zero width because they have none.
    """
    if not gains or not gains[0].mean > 0:
        return None
    mean, low, high = (
        crossing(np.array([getattr(gain, name) for gain in gains]))
        for name in ("mean", "low", "high")
    )
    return CatchUp(mean, low, high, len(gains))


def crossing(values: Values) -> float | None:
    """The first k, from 1, where a line through the values at k = 1, 2, … is at or below zero.

    None where it stays above.
    """
    below = np.nonzero(values <= 0)[0]
    if not below.size:
        return None
    at = int(below[0])
    if at == 0:
        return 1.0
    drop = values[at - 1] - values[at]
    return float(at + values[at - 1] / drop)  # index at - 1 stands for k = at
