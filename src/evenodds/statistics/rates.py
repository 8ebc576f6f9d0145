"""Rates and means of shares, with Wilson's interval at the number of samples they are worth."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import Values, counts_of, normal_quantile, require_shares
from evenodds.statistics.estimate import Estimate

DOUBT = 2.0  # problems as different as can be that are added to the spread of a single mean


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
    rate = np.array(successes / trials)
    low, high = score_ends(rate, np.array(float(trials)), np.array(normal_quantile(confidence)))
    return float(low), float(high)


def score_ends(rate: Values, trials: Values, z: Values) -> tuple[Values, Values]:
    """Wilson's interval, elementwise: rates in [0, 1], trials > 0, z standard errors."""
    z2 = z**2
    center = (rate * trials + z2 / 2) / (trials + z2)
    half = z * np.sqrt(np.maximum(0, trials * rate * (1 - rate)) + z2 / 4) / (trials + z2)
    low, high = np.maximum(0.0, center - half), np.minimum(1.0, center + half)
    return np.minimum(rate, low), np.maximum(rate, high)


def clustered_rate(right: ArrayLike, tries: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The mean over problems of their solve rates, with an interval that knows of problems.

    right, tries: [problems] whole numbers, right answers and judged answers of each problem.
    Problems without a judged answer are left out; without any problem the mean is NaN.
    The interval is that of `mean_of_shares`, and is never worth more than the answers themselves.
    """
    right_, tries_ = counts_of(right, tries)
    if not right_.size:
        return Estimate(math.nan, 0.0, 1.0)
    return mean_of_shares(right_ / tries_, confidence, samples_worth(tries_))


def samples_worth(tries: Values) -> float:
    """How many answers a mean over problems is worth at most; tries: [problems], none of them 0.

    It weighs problems alike, so that unequal tries are worth fewer answers than their sum.
    """
    return tries.size**2 / float((1 / tries).sum())


def mean_of_shares(
    values: ArrayLike, confidence: float = 0.95, samples: float = math.inf
) -> Estimate:
    """The mean of shares in [0, 1], one a problem, with an interval over problems.

    values: [problems]. samples: the answers behind them, where they bound what is known.

    Wilson's interval at the effective number of problems, mean (1 - mean) / variance of the mean:
    the design effect of Kish (1965), from the spread between problems. As in few problems rare
    ones are not seen, `DOUBT` problems at the ends of the range are added to that spread. The
    effective number is at least that of the problems (shares that are all 0 or 1), which also
    holds where all values are at one end and the spread tells nothing.
    """
    shares = np.asarray(values, dtype=np.float64)
    if not shares.size:
        return Estimate(math.nan, 0.0, 1.0)
    require_shares("the values of problems", shares)
    mean, low, high = mean_ends(shares, confidence, samples=samples)
    return Estimate(float(mean), float(low), float(high))


def mean_ends(
    values: Values,
    confidence: float = 0.95,
    doubt: float = DOUBT,
    samples: float | Values = math.inf,
) -> tuple[Values, Values, Values]:
    """Mean, low and high of `mean_of_shares`; values: [..., problems] shares, at least one."""
    problems = values.shape[-1]
    mean = np.clip(values.mean(-1), 0.0, 1.0)
    possible = mean * (1 - mean)
    spread = np.square(values - mean[..., None]).sum(-1) + doubt * possible
    known = possible > 1e-12
    worth = possible * problems * (problems - 1 + doubt) / np.where(known, spread, 1.0)
    most = np.maximum(problems, samples)
    effective = np.clip(np.where(known, worth, problems), problems, most)
    low, high = score_ends(mean, effective, np.array(normal_quantile(confidence)))
    return mean, low, high
