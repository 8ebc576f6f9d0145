"""Maj@k: the chance that most of k answers agree on the right one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evenodds.errors import UsageError
from evenodds.statistics.checks import Values, require_count
from evenodds.statistics.estimate import Estimate
from evenodds.statistics.pass_at import log_factorials
from evenodds.statistics.rates import mean_of_shares


@dataclass(frozen=True)
class Ballot:
    """What the n answers to one problem voted for.

    right: answers of the right class. wrong: how often each other answer was given. silent:
    answers without an extracted value; they vote for nothing and use up a draw.
    """

    right: int
    wrong: tuple[int, ...] = ()
    silent: int = 0

    @property
    def answers(self) -> int:
        return self.right + sum(self.wrong) + self.silent


@lru_cache(maxsize=16_384)  # many problems have the same votes, and are asked again by level
def maj_at_k(ballot: Ballot, k: int) -> float:
    """Unbiased chance that the right answer is the one most often given among k answers.

    The share of the subsets of k of the n answers, drawn without replacement, in which the right
    class has strictly more votes than each other: a tie is not a majority. Its expectation over n
    independent answers is the chance for k independent ones (a U-statistic, Hoeffding 1948).

    Exact by counting, not by drawing subsets: over t, the right votes, the ways to draw at most
    t - 1 of each other class are the coefficients of a product of polynomials. The counts are kept
    as chances, each answer being taken with probability near k/n on its own and the whole
    conditioned on k in all, so that nothing overflows.

    Raises UsageError if k > n.
    """
    for name, value in (("right", ballot.right), ("silent", ballot.silent)):
        require_count(name, value, 0)
    for value in ballot.wrong:
        require_count("a wrong answer's votes", value, 0)
    require_count("k", k, 1)
    n = ballot.answers
    if k > n:
        raise UsageError(f"maj@{k} needs at least {k} answers. Got n = {n}. Draw more or lower k.")
    taken = (k + 0.5) / (n + 1)
    right = _binomial(ballot.right, k, taken)
    close = min(len(right) - 1, max(ballot.wrong, default=0))  # more votes than that beat all
    won = sum(float(right[t]) * _others(ballot, t, k, taken) for t in range(1, close + 1))
    rest = _binomial(n - ballot.right, k, taken)
    won += sum(
        float(right[t] * rest[k - t]) for t in range(close + 1, len(right)) if k - t < len(rest)
    )
    return min(1.0, won / float(_binomial(n, k, taken)[k]))


def _others(ballot: Ballot, votes: int, k: int, taken: float) -> float:
    """The chance that k - votes of the others are taken, and of no class as many as `votes`."""
    small = sum(count for count in ballot.wrong if count < votes)  # cannot reach as many
    ways = _binomial(ballot.silent + small, k - votes, taken)
    for count in ballot.wrong:
        if count >= votes:
            held = _binomial(count, votes - 1, taken)
            ways = np.convolve(ways, held)[: k - votes + 1]
    return float(ways[k - votes]) if ways.size > k - votes else 0.0


@lru_cache(maxsize=16_384)
def _binomial(n: int, most: int, taken: float) -> Values:
    """The chances of 0, 1, … up to `most` (or n) of n, each taken with the same probability.

    Nobody may write into what is returned.
    """
    drawn = np.arange(min(n, most) + 1)
    logs = log_factorials(n)
    ways = logs[n] - logs[drawn] - logs[n - drawn]
    return np.exp(ways + drawn * math.log(taken) + (n - drawn) * math.log1p(-taken))


def maj_at_k_curve(
    ballots: Sequence[Ballot], ks: Sequence[int], confidence: float = 0.95
) -> list[Estimate]:
    """Unbiased maj@k averaged over problems for each k, with intervals over problems.

    A problem with fewer than k answers is left out at that k.

    Raises UsageError if no problem has k answers.
    """
    return [_estimate(ballots, k, confidence) for k in ks]


def _estimate(ballots: Sequence[Ballot], k: int, confidence: float) -> Estimate:
    values = [maj_at_k(ballot, k) for ballot in ballots if ballot.answers >= k]
    if not values:
        most = max((ballot.answers for ballot in ballots), default=0)
        raise UsageError(f"maj@{k} needs {k} answers to a problem. Got at most {most}. Lower k.")
    return mean_of_shares(values, confidence)
