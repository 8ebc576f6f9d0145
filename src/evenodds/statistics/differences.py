"""Differences between two policies on the same problems."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import (
    Values,
    normal_quantile,
    pairs_of,
    require_count,
    require_shares,
)
from evenodds.statistics.estimate import Estimate
from evenodds.statistics.rates import mean_ends, wilson_interval

DOUBT = 0.5  # of a problem, on each side of a difference


def paired_difference(before: ArrayLike, after: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Mean of after - before over the same problems, with an interval that keeps the pairs.

    before, after: [problems] shares in [0, 1], in the same order: solve rates, or the pass@k or
    maj@k of each problem. Without problems the mean is NaN and the interval [-1, 1].

    The intervals of the two means (`mean_of_shares`) are put together by the rule of Newcombe
    (1998, Statistics in Medicine 17, method 10) as Zou and Donner (2008, Statistics in Medicine
    27) state it for any two means: squared distances to the ends add up as variances do, less
    twice the correlation between the sides times both distances. The correlation is that over
    problems, held off 1 by the same doubt as the intervals: what was never seen to change might.

    Raises UsageError if the lengths differ.
    """
    first, second = pairs_of(before, after)
    if not first.size:
        return Estimate(math.nan, -1.0, 1.0)
    require_shares("the values of problems", np.concatenate([first, second]))
    mean, low, high = paired_ends(first, second, confidence)
    return Estimate(float(mean), float(low), float(high))


def paired_ends(
    before: Values, after: Values, confidence: float = 0.95
) -> tuple[Values, Values, Values]:
    """Mean, low and high of `paired_difference`; both [..., problems], at least one problem."""
    first, low0, high0 = mean_ends(before, confidence, DOUBT)
    second, low1, high1 = mean_ends(after, confidence, DOUBT)
    bound = 2 * _correlation(before, after)
    return _put_together((first, low0, high0), (second, low1, high1), bound)


def _put_together(
    before: tuple[Values, Values, Values], after: tuple[Values, Values, Values], bound: Values
) -> tuple[Values, Values, Values]:
    """Newcombe's rule. before, after: mean, low and high of each. bound: twice the correlation."""
    (first, low0, high0), (second, low1, high1) = before, after
    down0, up0, down1, up1 = first - low0, high0 - first, second - low1, high1 - second
    below = np.sqrt(np.maximum(0.0, down1**2 + up0**2 - bound * down1 * up0))
    above = np.sqrt(np.maximum(0.0, up1**2 + down0**2 - bound * up1 * down0))
    gain = second - first
    return gain, np.maximum(-1.0, gain - below), np.minimum(1.0, gain + above)


def unpaired_difference(before: Estimate, after: Estimate) -> Estimate:
    """after - before of two rates that are known by their intervals alone.

    The rule of `paired_difference` without a correlation, which is Newcombe's own (1998, method
    10). Rates of the same problems mostly rise and fall together: then it is too wide rather than
    too narrow. Where one of the means is NaN so is this one, and the interval is [-1, 1].
    """
    one, two = ((np.array(e.mean), np.array(e.low), np.array(e.high)) for e in (before, after))
    mean, low, high = unpaired_ends(one, two)
    if math.isnan(mean):
        return Estimate(math.nan, -1.0, 1.0)
    return Estimate(float(mean), float(low), float(high))


def unpaired_ends(
    before: tuple[Values, Values, Values], after: tuple[Values, Values, Values]
) -> tuple[Values, Values, Values]:
    """Mean, low and high of `unpaired_difference`; mean, low and high of each side, [...]."""
    return _put_together(before, after, np.array(0.0))


def _correlation(before: Values, after: Values) -> Values:
    """[...] over problems, with the doubt of both sides in the spread but not in what is shared."""
    first, second = before.mean(-1), after.mean(-1)
    off0, off1 = before - first[..., None], after - second[..., None]
    spread0 = np.square(off0).sum(-1) + DOUBT * np.clip(first * (1 - first), 0, None)
    spread1 = np.square(off1).sum(-1) + DOUBT * np.clip(second * (1 - second), 0, None)
    size = np.sqrt(spread0 * spread1)
    known = size > 1e-12
    return np.where(known, (off0 * off1).sum(-1) / np.where(known, size, 1.0), 0.0)


def gained_minus_lost(gained: int, lost: int, problems: int, confidence: float = 0.95) -> Estimate:
    """(gained - lost) / problems, for problems that are either solved or not on each side.

    The interval of Agresti and Min (2005, Statistics in Medicine 24): half a problem more in each
    of the four ways that a pair can turn out. Where none changed that would be too sure: there as
    many may be gained, or lost, as Wilson's interval allows for none in that many problems.
    Without problems the mean is NaN and the interval [-1, 1].

    Raises UsageError for more gained and lost than there are problems.
    """
    for name, value in (("gained", gained), ("lost", lost), ("problems", problems)):
        require_count(name, value, 0)
    if gained + lost > problems:
        raise UsageError(
            f"more problems changed than there are. Got {gained} gained and {lost} lost of "
            f"{problems}. Count each problem once."
        )
    if not problems:
        return Estimate(math.nan, -1.0, 1.0)
    if not gained + lost:
        unseen = wilson_interval(0, problems, confidence)[1]
        return Estimate(0.0, -unseen, unseen)
    size = problems + 2
    center, changed = (gained - lost) / size, (gained + lost + 1) / size
    half = normal_quantile(confidence) * math.sqrt((changed - center**2) / size)
    mean = (gained - lost) / problems
    return Estimate(mean, max(-1.0, min(mean, center - half)), min(1.0, max(mean, center + half)))


def mcnemar(gained: int, lost: int) -> float:
    """McNemar's test, exact: the two-sided mid-p-value of `gained` against `lost` problems.

    If nothing had changed, each problem that differs would be as likely gained as lost, so that
    the smaller count is binomial with one half. The mid-p-value counts half of the chance of what
    was seen; it keeps to its level far better than the whole one, which is too careful (Fagerland,
    Lydersen and Laake 2013, BMC Medical Research Methodology 13). 1 where no problem differs.
    """
    require_count("gained", gained, 0)
    require_count("lost", lost, 0)
    total, fewer = gained + lost, min(gained, lost)
    ways, below = 1, 0
    for index in range(fewer):
        below += ways
        ways = ways * (total - index) // (index + 1)
    # whole numbers until here: no rounding, however many problems there are
    return min(1.0, (2 * below + ways) / 2**total)
