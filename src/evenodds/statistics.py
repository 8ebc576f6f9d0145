"""How sure a number is: rates with intervals, pass@k, and how many groups tell anything.

A rate is a share in [0, 1]. The unit of independence is the problem, never the answer: answers to
one problem resemble each other, so intervals that count answers as if they were independent are
too narrow. No interval here has zero width, whatever the data; only the ends 0 and 1 cut it off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import UsageError

Values = NDArray[np.float64]
Statistic = Callable[[Values], Values]

RESAMPLES = 4000
SEED = 20_240_601  # fixed: the same evidence gives the same interval on every day
CHUNK = 2_000_000  # resampled values held at once: 16 MB


@dataclass(frozen=True)
class Estimate:
    """A mean with the two ends of its interval, all in the unit of the mean (shares, mostly).

    The mean is NaN where there was nothing to measure; the interval is then all that is possible.
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """A share in percent, with its interval: `57.1 % [52.0, 62.0]`."""
        interval = f"[{100 * self.low:.1f}, {100 * self.high:.1f}]"
        head = "unknown" if math.isnan(self.mean) else f"{100 * self.mean:.1f} %"
        return f"{head} {interval}"

    def points(self) -> str:
        """A difference of shares in percentage points: `+12.3 points [+8.0, +16.1]`."""
        interval = f"[{100 * self.low:+.1f}, {100 * self.high:+.1f}]"
        head = "unknown" if math.isnan(self.mean) else f"{100 * self.mean:+.1f} points"
        return f"{head} {interval}"


def informative_group_probability(p: float, group_size: int) -> float:
    """1 - p^G - (1-p)^G: the chance that G independent answers do not all agree.

    p: solve rate of the problem, in [0, 1]. A group that agrees has no advantage, so no gradient.
    Computed from the rarer outcome, so that it is exact where p is within 1e-12 of an end.
    """
    _require_share("p", p)
    _require_count("group_size", group_size, 1)
    rare = min(p, 1 - p)
    return max(0.0, -math.expm1(group_size * math.log1p(-rare)) - rare**group_size)


def expected_draws_for_informative_groups(p: float, group_size: int, groups: int) -> float:
    """Groups to sample, on average, until `groups` of them are informative; inf if none can be."""
    _require_count("groups", groups, 0)
    chance = informative_group_probability(p, group_size)
    if groups == 0:
        return 0.0
    return groups / chance if chance > 0 else math.inf


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that one of k answers is right, from n answers of which c are right.

    1 - C(n-c, k) / C(n, k), as the product 1 - prod over i in n-c+1..n of (1 - k/i), which does
    not overflow. HumanEval, arXiv 2107.03374. Not the same as `pass_at_k_independent(c / n, k)`,
    which is biased downwards.

    Raises UsageError if k > n: there is no unbiased estimate from fewer answers than k.
    """
    _require_count("n", n, 1)
    _require_count("c", c, 0)
    _require_count("k", k, 1)
    if c > n:
        raise UsageError(f"more right answers than answers. Got c = {c}, n = {n}. Give c <= n.")
    if k > n:
        raise UsageError(f"pass@{k} needs at least {k} answers. Got n = {n}. Draw more or lower k.")
    return 1.0 - math.prod(max(0.0, 1.0 - k / i) for i in range(n - c + 1, n + 1))


def pass_at_k_independent(p: float, k: int) -> float:
    """1 - (1-p)^k: the chance that one of k independent answers is right, for a *known* p."""
    _require_share("p", p)
    _require_count("k", k, 0)
    return 1.0 - (1.0 - p) ** k


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
    z2 = _z(confidence) ** 2
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
    right_, tries_ = _counts(right, tries)
    rates = right_ / tries_
    if not rates.size:
        return Estimate(math.nan, 0.0, 1.0)
    mean = float(rates.mean())
    effective = _effective_samples(rates, tries_)
    low, high = wilson_interval(min(mean * effective, effective), effective, confidence)
    return Estimate(mean, min(low, mean), max(high, mean))


def bootstrap_interval(
    values_by_problem: ArrayLike,
    statistic: Statistic | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[float, float]:
    """Percentile bootstrap over problems (Efron 1979); the seed is fixed, so it repeats exactly.

    values_by_problem: [problems]. statistic: reduces the last axis, [resamples, problems] to
    [resamples]; the mean by default. Values that all agree give an interval of zero width, for the
    range that they might have had is not known here: `paired_difference` and `pass_at_k_curve`
    know theirs.

    Raises UsageError if there are no values.
    """
    values = np.asarray(values_by_problem, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise UsageError(f"a bootstrap needs a list of values. Got shape {values.shape}.")
    reduce = _mean_of_last_axis if statistic is None else statistic
    drawn = _resample(values, values.size, reduce, resamples, np.random.default_rng(seed))
    return _percentiles(drawn, confidence)


def paired_difference(before: ArrayLike, after: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Mean of after - before over the same problems, by a bootstrap that keeps the pairs.

    before, after: [problems] solve rates in [0, 1], in the same order.
    Two pseudo-problems keep rare changes from looking impossible. Where all problems changed alike,
    as many unseen ones may have changed otherwise as Wilson's interval allows.
    Without problems the mean is NaN and the interval [-1, 1].

    Raises UsageError if the lengths differ.
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise UsageError(
            f"a paired comparison needs the same problems on both sides. "
            f"Got {first.shape} and {second.shape}."
        )
    return _estimate(second - first, -1.0, 1.0, confidence)


def pass_at_k_curve(
    n: ArrayLike, c: ArrayLike, ks: Sequence[int], confidence: float = 0.95
) -> list[Estimate]:
    """Unbiased pass@k averaged over problems for each k, with intervals over problems.

    n, c: [problems] answers and right answers of each problem. A problem with fewer than k
    answers has no unbiased pass@k and is left out at that k. All k share the same resamples.

    Raises UsageError if no problem has k answers.
    """
    right, tries = _counts(c, n)
    pairs = [(int(a), int(b)) for a, b in zip(tries, right, strict=True)]
    return [_pass_at_k_estimate(pairs, k, confidence) for k in ks]


def _pass_at_k_estimate(pairs: list[tuple[int, int]], k: int, confidence: float) -> Estimate:
    values = np.array([pass_at_k(n, c, k) for n, c in pairs if n >= k], dtype=np.float64)
    if not values.size:
        most = max((n for n, _ in pairs), default=0)
        raise UsageError(f"pass@{k} needs {k} answers to a problem. Got at most {most}. Lower k.")
    return _estimate(values, 0.0, 1.0, confidence)


def _estimate(values: Values, floor: float, ceiling: float, confidence: float) -> Estimate:
    if not values.size:
        return Estimate(math.nan, floor, ceiling)
    mean = float(values.mean())
    low, high = _mean_interval(values, floor, ceiling, confidence)
    return Estimate(mean, max(floor, min(low, mean)), min(ceiling, max(high, mean)))


def _mean_interval(
    values: Values, floor: float, ceiling: float, confidence: float
) -> tuple[float, float]:
    """Interval of a mean of values in [floor, ceiling], by a bootstrap that has some doubt.

    A plain bootstrap believes that what was not drawn cannot happen. So two problems are added: one
    at the mean, and one that is half the largest deviation above it and half that much below. For
    pairs of right and wrong answers they are the pseudo-pairs of Agresti and Min (2005, Statistics
    in Medicine 24), scaled to the data for finer rates. The mean stays what it was.

    Where all values are equal there is no deviation to scale by: then up to u of the problems not
    seen may lie anywhere in the range, u being Wilson's upper limit for none in that many problems.
    """
    mean = float(values.mean())
    deviation = float(np.abs(values - mean).max())
    if deviation < 1e-12:
        unseen = wilson_interval(0, values.size, confidence)[1]
        return mean - unseen * (mean - floor), mean + unseen * (ceiling - mean)
    doubts = np.array([mean + deviation, mean - deviation, mean, mean])
    pool = np.concatenate([values, values, doubts])  # each doubt weighs half a problem
    rng = np.random.default_rng(SEED)
    drawn = _resample(pool, values.size, _mean_of_last_axis, RESAMPLES, rng)
    return _percentiles(drawn, confidence)


def _percentiles(drawn: Values, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _mean_of_last_axis(values: Values) -> Values:
    return values.mean(axis=-1)


def _resample(
    pool: Values, size: int, reduce: Statistic, count: int, rng: np.random.Generator
) -> Values:
    """[count] the statistic of `size` draws from the pool, with replacement."""
    rows = max(1, CHUNK // size)
    chunks = [min(rows, count - start) for start in range(0, count, rows)]
    drawn = [reduce(pool[rng.integers(0, pool.size, (rows, size))]) for rows in chunks]
    return np.concatenate(drawn)


def _effective_samples(rates: Values, tries: Values) -> float:
    problems, mean = rates.size, float(rates.mean())
    # the mean weighs problems alike, so unequal tries are worth fewer samples than their sum
    samples = problems**2 / float((1 / tries).sum())
    binomial = mean * (1 - mean)
    if problems == 1 or binomial < 1e-12:
        return float(problems)
    variance = float(rates.var(ddof=1)) / problems
    return float(np.clip(binomial / max(variance, binomial / samples), problems, samples))


def _counts(right: ArrayLike, tries: ArrayLike) -> tuple[Values, Values]:
    """Both as float64 [problems], without the problems that have no tries."""
    successes, trials = np.asarray(right, dtype=np.float64), np.asarray(tries, dtype=np.float64)
    if successes.shape != trials.shape or successes.ndim != 1:
        raise UsageError(
            f"each problem needs right answers and tries. Got {successes.shape}, {trials.shape}."
        )
    if bool(np.any(successes < 0) or np.any(successes > trials)):
        raise UsageError("a problem has more right answers than answers. Give 0 <= right <= tries.")
    kept = trials > 0
    return successes[kept], trials[kept]


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence lies between 0 and 1. Got {confidence}. Give 0.95, say.")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _require_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is a share. Got {value}. Give a number from 0 to 1.")


def _require_count(name: str, value: int, least: int) -> None:
    if not value >= least or value != int(value):  # NaN is none
        raise UsageError(f"{name} is a count. Got {value}. Give a whole number from {least} up.")
