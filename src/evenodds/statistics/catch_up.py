"""The number of tries at which the base solves as much as the trained policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import Values, require_count
from evenodds.statistics.differences import paired_ends
from evenodds.statistics.pass_at import pass_at_k_values


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


def catch_up(
    tries: ArrayLike,
    before: ArrayLike,
    after: ArrayLike,
    most: int | None = None,
    confidence: float = 0.95,
) -> CatchUp | None:
    """The k at which the base catches up; None where the trained policy is not ahead at k = 1.

    tries: [problems] answers of each problem on each side, the fewer of the two. before, after:
    [problems] right answers among that many, of the base and of the trained policy. most: the
    largest k looked at, by default the fewest tries; problems with fewer are left out.

    The interval is the set of those k at which the paired difference of pass@k has an interval
    with zero in it (a test turned round, as Fieller's is): it holds the true k as often as that
    interval holds the true difference, and it cannot have zero width.

    Raises UsageError if no problem has `most` answers.
    """
    answers = np.asarray(tries, dtype=np.float64)
    most_ = int(answers.min(initial=math.inf)) if most is None and answers.size else most or 0
    require_count("most", most_, 1)
    kept = answers >= most_
    if not kept.any():
        raise UsageError(f"no problem has {most_} answers on both sides. Lower the largest k.")
    counts = (np.asarray(side, dtype=np.float64)[kept] for side in (before, after))
    curves = np.array([_ends(answers[kept], *pair, confidence) for pair in _each(most_, *counts)])
    mean, low, high = curves.T
    if not mean[0] > 0:
        return None
    return CatchUp(crossing(mean), crossing(low), crossing(high), most_)


def _each(most: int, before: Values, after: Values) -> list[tuple[Values, Values, int]]:
    return [(before, after, k) for k in range(1, most + 1)]


def _ends(
    tries: Values, before: Values, after: Values, k: int, confidence: float
) -> tuple[float, float, float]:
    first, second = (pass_at_k_values(tries, side, k) for side in (before, after))
    mean, low, high = paired_ends(first, second, confidence)
    return float(mean), float(low), float(high)


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
