"""How many groups will be mixed, from how often some problems were solved: no point estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenodds.statistics.checks import Values, counts_of, normal_quantile, require_count
from evenodds.statistics.estimate import Estimate

MEANS, ALIKE = 40, 20  # points of the grid
LOGITS = (-9.2, 9.2)  # of the mean solve rate: from 1e-4
COMMON = 0.25  # correlation of the errors of two levels
LOGS = (np.log(0.1), np.log(1000.0))  # of a + b: how alike the problems of a level are


@dataclass(frozen=True)
class Mixture:
    """What is known of a level: how likely each Beta(a, b) is, of which its problems' solve rates
    are drawn. a, b, weight: [combinations], weights sum to 1."""

    a: Values
    b: Values
    weight: Values

    @property
    def mean(self) -> float:
        """The expected solve rate."""
        return float((self.weight * self.a / (self.a + self.b)).sum())

    def informative(self, group_size: int) -> Values:
        """[combinations] the chance that a group of a fresh problem is mixed: 1 - E p^n - E q^n."""
        require_count("group_size", group_size, 1)
        right, wrong = ((group_size, 0), (0, group_size))
        agree = np.exp(_log_moment(self.a, self.b, *right))
        agree = agree + np.exp(_log_moment(self.a, self.b, *wrong))
        return np.clip(1 - agree, 0.0, 1.0)


def mixture(right: ArrayLike, tries: ArrayLike) -> Mixture:
    """The posterior over how solve rates of problems are spread, from right answers of tries.

    right, tries: [problems] whole numbers. The counts are beta-binomial (Skellam 1948): solve rates
    are Beta(a, b) over problems, and answers independent given the rate. The prior is Jeffreys' for
    the mean a / (a + b), Beta(1/2, 1/2), and even in log (a + b) from .1 to 1000; the posterior is
    added up on a grid over logit of the mean and log (a + b), which is laid a second time, more
    narrowly, over where the first one found anything.
    """
    right_, tries_ = counts_of(right, tries)
    pairs, counts = np.unique(np.stack([right_, tries_ - right_]), axis=1, return_counts=True)
    kinds = [(int(r), int(w), int(n)) for (r, w), n in zip(pairs.T, counts, strict=True)]
    logits, logs = np.linspace(*LOGITS, MEANS), np.linspace(*LOGS, ALIKE)
    weight = _weights(logits, logs, kinds)
    logits = _narrowed(logits, weight.sum(1))
    logs = _narrowed(logs, weight.sum(0))
    weight = _weights(logits, logs, kinds)
    a, b = _grid(logits, logs)
    return Mixture(a, b, weight.ravel())


def _grid(logits: Values, logs: Values) -> tuple[Values, Values]:
    """a and b, [logits x logs] in one line."""
    logit, log = (grid.ravel() for grid in np.meshgrid(logits, logs, indexing="ij"))
    mean = 1 / (1 + np.exp(-logit))
    return mean * np.exp(log), (1 - mean) * np.exp(log)


def _weights(logits: Values, logs: Values, kinds: Sequence[tuple[int, int, int]]) -> Values:
    """[logits, logs] the posterior, which sums to 1. kinds: right and wrong answers to a problem,
    and how many problems have these."""
    a, b = _grid(logits, logs)
    log = 0.5 * (np.log(a) + np.log(b)) - np.log(a + b)  # Jeffreys' prior, of the logit
    for right, wrong, count in kinds:
        log = log + count * _log_moment(a, b, right, wrong)
    weight = np.exp(log - log.max())
    return (weight / weight.sum()).reshape(logits.size, logs.size)


def _narrowed(places: Values, weight: Values) -> Values:
    """As many places over those with any weight, and one further at each side."""
    some = np.flatnonzero(weight > 1e-6)
    low, high = max(0, some[0] - 1), min(places.size - 1, some[-1] + 1)
    return np.linspace(places[low], places[high], places.size)


def _log_moment(a: Values, b: Values, right: int, wrong: int) -> Values:
    """log E p^right (1 - p)^wrong for p of Beta(a, b), by rising factorials."""
    up = _rising(a, right) + _rising(b, wrong)
    return up - _rising(a + b, right + wrong)


def _rising(values: Values, count: int) -> Values:
    """log of v (v + 1) ... (v + count - 1), elementwise."""
    return np.log(values[:, None] + np.arange(count)).sum(1)


def expected_informative(
    levels: Sequence[tuple[float, Mixture]], group_size: int, confidence: float = 0.95
) -> Estimate:
    """The expected share of mixed groups, and its interval.

    levels: the share of problems that are drawn from each level, and what is known of it. The
    interval is of the weighted sum, by its variance, and cut at 0 and 1. Errors of levels are not
    independent: with few answers to each, what is known leans on the prior, and where all levels
    are alike, all solved or none, it leans the same way in each. So their correlation is taken as
    `COMMON`. With independent ones the interval lay above the truth in 39 of 80 probes of ten
    levels at a solve rate of .02, and in all of them at .005.
    """
    total = sum(share for share, _ in levels)
    mean = alone = together = 0.0
    for share, known in levels:
        chance = known.informative(group_size)
        level = float((known.weight * chance).sum())
        spread = float((known.weight * np.square(chance - level)).sum())
        mean += share / total * level
        alone += (share / total) ** 2 * spread
        together += share / total * spread**0.5
    half = normal_quantile(confidence) * ((1 - COMMON) * alone + COMMON * together**2) ** 0.5
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half))
