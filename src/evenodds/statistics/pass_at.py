"""The chance that one of k answers is right."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import counts_of, require_count, require_share
from evenodds.statistics.estimate import Estimate
from evenodds.statistics.means import bounded_mean


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
    answers has no unbiased pass@k and is left out at that k. All k share the same resamples.

    Raises UsageError if no problem has k answers.
    """
    right, tries = counts_of(c, n)
    pairs = [(int(a), int(b)) for a, b in zip(tries, right, strict=True)]
    return [_pass_at_k_estimate(pairs, k, confidence) for k in ks]


def _pass_at_k_estimate(pairs: list[tuple[int, int]], k: int, confidence: float) -> Estimate:
    values = np.array([pass_at_k(n, c, k) for n, c in pairs if n >= k], dtype=np.float64)
    if not values.size:
        most = max((n for n, _ in pairs), default=0)
        raise UsageError(f"pass@{k} needs {k} answers to a problem. Got at most {most}. Lower k.")
    return bounded_mean(values, 0.0, 1.0, confidence)
