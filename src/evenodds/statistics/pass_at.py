"""The chance that one of k answers is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import Values, counts_of, require_count, require_share
from evenodds.statistics.estimate import Estimate
from evenodds.statistics.rates import mean_of_shares, samples_worth


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that one of k answers is right, from n answers of which c are right.

    1 - C(n-c, k) / C(n, k), as the product 1 - prod over i in n-c+1..n of (1 - k/i), which does
    not overflow. HumanEval, arXiv 2107.03374. Not the same as `pass_at_k_independent(c / n, k)`,
    which is biased downwards.

    Raises UsageError if k > n: there is no unbiased estimate from fewer answers than k.
    """
    require_count("n", n, 1)
    require_count("c", c, 0)
    require_count("k", k, 1)
    if c > n:
        raise UsageError(f"more right answers than answers. Got c = {c}, n = {n}. Give c <= n.")
    if k > n:
        raise UsageError(f"pass@{k} needs at least {k} answers. Got n = {n}. Draw more or lower k.")
    return 1.0 - math.prod(max(0.0, 1.0 - k / i) for i in range(n - c + 1, n + 1))


def pass_at_k_independent(p: float, k: int) -> float:
    """1 - (1-p)^k: the chance that one of k independent answers is right, for a *known* p."""
    require_share("p", p)
    require_count("k", k, 0)
    return 1.0 - (1.0 - p) ** k


def pass_at_k_curve(
    n: ArrayLike, c: ArrayLike, ks: Sequence[int], confidence: float = 0.95
) -> list[Estimate]:
    """Unbiased pass@k averaged over problems for each k, with intervals over problems.

    n, c: [problems] answers and right answers of each problem. A problem with fewer than k
    answers has no unbiased pass@k and is left out at that k.

    Raises UsageError if no problem has k answers.
    """
    right, tries = counts_of(c, n)
    return [_estimate(tries, right, k, confidence) for k in ks]


def _estimate(tries: Values, right: Values, k: int, confidence: float) -> Estimate:
    require_count("k", k, 1)
    kept = tries >= k
    if not kept.any():
        most = int(max([0, *tries]))
        raise UsageError(f"pass@{k} needs {k} answers to a problem. Got at most {most}. Lower k.")
    values = pass_at_k_values(tries[kept], right[kept], k)
    return mean_of_shares(values, confidence, samples_worth(tries[kept]))


def pass_at_k_values(n: Values, c: Values, k: int) -> Values:
    """`pass_at_k` elementwise: arrays of whole numbers, every n at least k."""
    tries, right = np.broadcast_arrays(n, c)
    tries, wrong = tries.astype(np.int64), (tries - right).astype(np.int64)
    logs = log_factorials(int(tries.max(initial=0)))
    kept = np.maximum(wrong - k, 0)
    failed = np.exp(logs[wrong] - logs[kept] + logs[tries - k] - logs[tries])
    found = np.where(wrong < k, 1.0, 1.0 - failed)
    return np.where(wrong == tries, 0.0, found)  # to the last bit


@lru_cache(maxsize=64)
def log_factorials(most: int) -> Values:
    """[most + 1] log 0!, log 1!, … Nobody may write into it."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
