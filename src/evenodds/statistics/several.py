"""Several verdicts at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from evenodds.statistics.estimate import Estimate

STEPS = 18  # of halving on a scale of powers: p to a ten-thousandth of itself


def p_value(interval: Callable[[float], Estimate]) -> float:
    """The p-value that goes with an interval: 1 minus the confidence at which zero is just outside.

    interval: of a difference, by its confidence. So a verdict by p < .05 is the one by the 95 %
    interval. The least that is told apart is 1e-9.
    """
    low, high = 1e-9, 1 - 1e-9
    if _leaves_zero_out(interval(1 - low)):
        return low
    if not _leaves_zero_out(interval(1 - high)):
        return 1.0
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if _leaves_zero_out(interval(1 - middle)) else (middle, high)
    return high


def _leaves_zero_out(estimate: Estimate) -> bool:
    return estimate.low > 0 or estimate.high < 0


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values as they have to be read when all are looked at, in the order given.

    Below .05 for any of them is wrong in at most 5 % of all such families. Holm 1979,
    Scandinavian Journal of Statistics 6: the least is multiplied by their number, the next by one
    less, and none is smaller than one before it.
    """
    adjusted = [1.0] * len(p_values)
    least = 0.0
    for rank, at in enumerate(np.argsort(p_values, kind="stable").tolist()):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = least
    return adjusted
