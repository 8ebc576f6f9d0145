"""Rates and their score intervals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import Values, counts_of, normal_quantile
from evenodds.statistics.estimate import Estimate


def wilson_interval(
    successes: float, trials: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Wilson's score interval of a rate; counts may be effective ones, so not whole numbers.

    Source: Wilson 1927, JASA 22(158). No trials: everything is possible, (0, 1).
    """
    if not 0 <= successes <= trials or not math.isfinite(trials):
        raise UsageError(
            f"no rate can be made of these counts. Got {successes} of {trials}. "
            "Give 0 <= successes <= trials."
        )
    if trials == 0:
        return 0.0, 1.0
    z2 = normal_quantile(confidence) ** 2
    rate = successes / trials
    center = (successes + z2 / 2) / (trials + z2)
    half = math.sqrt(z2 * (trials * rate * (1 - rate) + z2 / 4)) / (trials + z2)
    return min(rate, max(0.0, center - half)), max(rate, min(1.0, center + half))


def clustered_rate(right: ArrayLike, tries: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The mean over problems of their solve rates, with an interval that knows of problems.

    right, tries: [problems] whole numbers, right answers and judged answers of each problem.
    Problems without a judged answer are left out; without any problem the mean is NaN.

    A Wilson interval at the effective number of samples, mean (1-mean) / variance of the mean,
    where that variance comes from the spread between problems (the design effect, Kish 1965). It
    is held between the number of problems (answers to a problem all alike) and the number of
    samples (problems all alike). At a rate of exactly 0 or 1 the spread tells nothing, and the
    number of problems is used.
    """
    right_, tries_ = counts_of(right, tries)
    rates = right_ / tries_
    if not rates.size:
        return Estimate(math.nan, 0.0, 1.0)
    mean = float(rates.mean())
    effective = _effective_samples(rates, tries_)
    low, high = wilson_interval(min(mean * effective, effective), effective, confidence)
    return Estimate(mean, min(low, mean), max(high, mean))


def _effective_samples(rates: Values, tries: Values) -> float:
    problems, mean = rates.size, float(rates.mean())
    # the mean weighs problems alike, so unequal tries are worth fewer samples than their sum
    samples = problems**2 / float((1 / tries).sum())
    binomial = mean * (1 - mean)
    if problems == 1 or binomial < 1e-12:
        return float(problems)
    variance = float(rates.var(ddof=1)) / problems
    return float(np.clip(binomial / max(variance, binomial / samples), problems, samples))
