"""Several training runs of one kind: what they show together, knowing of seeds and of problems.

A mean over seeds and problems varies for both reasons, and they are crossed: every seed answers
the same problems. Counting problems alone forgets that another seed would have trained another
policy; counting seeds alone has two to five numbers. So the variance is taken apart, as in a
two-way analysis of variance without replication (Searle, Casella and McCulloch 1992, Variance
Components, chapter 4), and the degrees of freedom are those of Satterthwaite (1946, Biometrics
Bulletin 2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import UsageError
from evenodds.statistics.checks import Values, require_shares
from evenodds.statistics.differences import paired_difference
from evenodds.statistics.estimate import Estimate
from evenodds.statistics.quantiles import student_quantile
from evenodds.statistics.rates import mean_of_shares, score_ends

DOUBT = 1.0  # problems as different as can be, added to the spread of a mean
DOUBT_OF_SIDE = 0.5  # and on each side of a difference


def pooled_mean(values: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The mean over seeds and problems, with an interval that knows of both.

    values: [seeds, problems] shares in [0, 1]. One seed: `mean_of_shares`, which speaks of that
    policy only. Wilson's interval at the effective number, with Student's quantile.
    """
    table = _table(values)
    if table.shape[0] == 1 or not table.shape[1]:
        return mean_of_shares(table[0], confidence)
    mean, low, high = pooled_mean_ends(table, confidence)
    return Estimate(float(mean), float(low), float(high))


def pooled_difference(before: ArrayLike, after: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The mean of after - before over problems and seeds, problems paired, seeds not.

    before: [seeds, problems], after: [other seeds, problems], shares in [0, 1]. A side with one
    row is a policy as it is, such as the base, or a run that cannot tell of other seeds. One row
    on each side: `paired_difference`.

    Raises UsageError if the problems are not as many.
    """
    first, second = _table(before), _table(after)
    if first.shape[1] != second.shape[1]:
        raise UsageError(
            f"a paired comparison needs the same problems on both sides. "
            f"Got {first.shape[1]} and {second.shape[1]}."
        )
    if len(first) == len(second) == 1 or not first.shape[1]:
        return paired_difference(first[0], second[0], confidence)
    mean, low, high = pooled_difference_ends(first, second, confidence)
    return Estimate(float(mean), float(low), float(high))


def pooled_mean_ends(values: Values, confidence: float = 0.95) -> tuple[Values, Values, Values]:
    """Mean, low and high of `pooled_mean`; values: [..., seeds, problems], two seeds or more."""
    problems = values.shape[-1]
    mean = np.clip(values.mean((-2, -1)), 0.0, 1.0)
    possible = mean * (1 - mean)
    by_problem = _variance(values.mean(-2), DOUBT * possible)
    variance, freedom = _satterthwaite(by_problem, problems, [_seeds(values)])
    worth = np.where(possible > 1e-12, possible / np.maximum(variance, 1e-300), problems)
    z = student_quantile(freedom, confidence)
    return mean, *score_ends(mean, np.maximum(worth, 1.0), z)


def pooled_difference_ends(
    before: Values, after: Values, confidence: float = 0.95
) -> tuple[Values, Values, Values]:
    """Mean, low and high of `pooled_difference`; [..., seeds, problems] on each side."""
    problems = before.shape[-1]
    first, second = before.mean(-2), after.mean(-2)
    rates = [np.clip(side.mean(-1), 0.0, 1.0) for side in (first, second)]
    possible = rates[0] * (1 - rates[0]) + rates[1] * (1 - rates[1])
    by_problem = _variance(second - first, DOUBT_OF_SIDE * possible)
    # all changed alike, to all right or all wrong: as in Wilson's interval for none in that many
    by_problem = np.where(by_problem > 1e-12, by_problem, 4 / (problems + 4) ** 2)
    sides = [_seeds(side) for side in (before, after) if side.shape[-2] > 1]
    variance, freedom = _satterthwaite(by_problem, problems, sides)
    half = student_quantile(freedom, confidence) * np.sqrt(variance)
    gain = (second - first).mean(-1)
    return gain, np.maximum(-1.0, gain - half), np.minimum(1.0, gain + half)


def _table(values: ArrayLike) -> Values:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.shape[0]:
        raise UsageError(f"seeds and problems make a table. Got shape {table.shape}.")
    require_shares("the values of problems", table)
    return table


def _variance(values: Values, doubt: Values) -> Values:
    """Of the mean of [..., problems]; doubt: squared deviations of what was not seen."""
    problems = values.shape[-1]
    spread = np.square(values - values.mean(-1, keepdims=True)).sum(-1)
    return (spread + doubt) / max(1, problems - 1) / problems


def _seeds(values: Values) -> tuple[Values, Values, int, int]:
    """How the seeds vary as wholes, and what of that is only their answers to these problems.

    Both as variances of the mean over seeds and problems, [...], with their degrees of freedom.
    The second is already in the spread over problems, so that it is taken off the first.
    """
    seeds, problems = values.shape[-2:]
    whole = values.mean(-1)
    rest = values - whole[..., None] - values.mean(-2, keepdims=True)
    rest = rest + values.mean((-2, -1), keepdims=True)
    freedom = (seeds - 1) * max(1, problems - 1)
    between = whole.var(-1, ddof=1) / seeds
    within = np.square(rest).sum((-2, -1)) / freedom / (seeds * problems)
    return between, within, seeds - 1, freedom


def _satterthwaite(
    by_problem: Values, problems: int, sides: list[tuple[Values, Values, int, int]]
) -> tuple[Values, Values]:
    """The variance of the mean, never less than that over problems, and its degrees of freedom."""
    variance = by_problem.copy()
    uncertain = by_problem**2 / max(1, problems - 1)
    for between, within, few, many in sides:
        variance = variance + np.maximum(0.0, between - within)
        uncertain = uncertain + between**2 / few + within**2 / many
    variance = np.maximum(variance, by_problem)
    freedom = variance**2 / np.maximum(uncertain, 1e-300)
    least = min([few for _, _, few, _ in sides] + [max(1, problems - 1)])
    most = sum([few for _, _, few, _ in sides] + [max(1, problems - 1)])
    return variance, np.clip(freedom, least, most)
