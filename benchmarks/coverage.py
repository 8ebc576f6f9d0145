"""How often each kind of 95 % interval holds the truth, over a declared grid.

    python -m benchmarks.coverage          # 2,000 simulated evaluations a point: some minutes
    python -m benchmarks.coverage --quick  # a corner of the grid, to see that it runs

Problems are drawn from a population, answers from each problem, and the interval is asked whether
it holds the mean over the population: not over the problems that happened to be drawn. Exit 3 if
the mean coverage of a kind over its grid lies outside 93 to 97 %, or an interval had no width.
The intervals are those that the package uses, called on whole arrays.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from evenodds.statistics.bootstrap import bootstrap_ends
from evenodds.statistics.catch_up import crossing
from evenodds.statistics.checks import normal_quantile
from evenodds.statistics.differences import gained_minus_lost, mcnemar, paired_ends, unpaired_ends
from evenodds.statistics.majority import Ballot, maj_at_k
from evenodds.statistics.pass_at import pass_at_k_values
from evenodds.statistics.rates import mean_ends, score_ends
from evenodds.statistics.seeds import pooled_difference_ends, pooled_mean_ends

Values = NDArray[np.float64]
Ends = tuple[Values, Values]

PROBLEMS = (20, 50, 100, 200)
RATES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
ALIKE = 0.0
SPREADS = (ALIKE, 4.0, 0.5)  # a + b of Beta rates between problems; ALIKE: one rate for all
ANSWERS = 16  # to a problem, on each side
KS = (1, 4, 16)
CHANGES = ((0.0, 0.0), (0.5, 0.15))  # half of the problems gain this share of 1 - p, half lose
TURNS = ((0.02, 0.02), (0.1, 0.1), (0.3, 0.05))  # shares of unsolved gained, of solved lost
SEEDS = (2, 3, 5)
TRAINING = (0.0, 0.3, 0.8)  # spread between training seeds, in logits
VOTES = (0.55, 0.25, 0.1)  # shares of the wrong answers that three others take; the rest is silent
LOWEST, HIGHEST = 0.93, 0.97


@dataclass(frozen=True)
class Setting:
    """How much is simulated."""

    evaluations: int = 2000
    problems: Sequence[int] = PROBLEMS
    rates: Sequence[float] = RATES
    spreads: Sequence[float] = SPREADS
    population: int = 400_000  # problems that stand for all where there is no closed form


@dataclass
class Kind:
    """Coverage of one kind of interval, a point at a time."""

    name: str
    points: list[tuple[str, float]] = field(default_factory=list)
    narrowest: float = np.inf
    width: list[float] = field(default_factory=list)

    def add(self, point: str, ends: Ends, truth: float) -> None:
        low, high = ends
        inside = (low <= truth + 1e-12) & (truth <= high + 1e-12)
        self.points.append((point, float(inside.mean())))
        finite = np.isfinite(high)
        self.narrowest = min(self.narrowest, float((high - low).min()))
        self.width.append(float((high - low)[finite].mean()) if finite.any() else np.inf)

    @property
    def mean(self) -> float:
        return float(np.mean([share for _, share in self.points]))

    @property
    def is_good(self) -> bool:
        return LOWEST <= self.mean <= HIGHEST and self.narrowest > 0

    def line(self) -> str:
        shares = np.array([share for _, share in self.points])
        point, worst = min(self.points, key=lambda found: found[1])
        return (
            f"{self.name:<26} {len(shares):>5} {100 * self.mean:>6.1f} {100 * worst:>6.1f}  "
            f"{point:<33} {100 * float((shares >= 0.9).mean()):>4.0f}  {self.narrowest:>8.1e}"
            f"{'' if self.is_good else '  OUT'}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a corner of the grid")
    parser.add_argument("--only", default="", help="kinds whose name has this in it")
    asked = parser.parse_args(arguments)
    quick = Setting(200, (20, 100), (0.1, 0.5), (ALIKE, 0.5), 50_000)
    return report(quick if asked.quick else Setting(), asked.only)


def report(setting: Setting, only: str = "") -> int:
    """Print a line a kind, and the false alarms of McNemar's test; the exit code."""
    print(
        f"{setting.evaluations:,} evaluations a point; n {setting.problems}; p {setting.rates}; "
        f"Beta spreads {setting.spreads}; {ANSWERS} answers\n\n"
        f"{'95 % interval of':<26} points  mean  worst  {'at':<33} >=90  least width"
    )
    started, kinds = time.perf_counter(), []
    for place, (name, simulate) in enumerate(KINDS.items(), 1):
        if only in name:  # the seed is that of its place, so that alone it says the same
            kinds.append(simulate(Kind(name), setting, np.random.default_rng(place)))
            print(kinds[-1].line(), flush=True)
    alarms = false_alarms()
    print(
        f"\nMcNemar, mid-p: false alarms at .05: mean {alarms.mean():.3f}, most {alarms.max():.3f}"
    )
    widthless = sum(not kind.narrowest > 0 for kind in kinds)
    print(f"kinds with an interval of zero width: {widthless}")
    print(f"{time.perf_counter() - started:.0f} s")
    return 0 if all(kind.is_good for kind in kinds) else 3


# --- populations


def grid(setting: Setting) -> Iterator[tuple[int, float, float, str]]:
    for n, p, spread in product(setting.problems, setting.rates, setting.spreads):
        yield n, p, spread, f"n={n} p={p:g} {f'Beta({spread:g})' if spread else 'alike'}"


def rates_of(p: float, spread: float, shape: tuple[int, ...], rng: np.random.Generator) -> Values:
    """Solve rates of problems."""
    if not spread:
        return np.full(shape, p)
    return rng.beta(p * spread, (1 - p) * spread, shape)


def changed(rates: Values, change: tuple[float, float], rng: np.random.Generator) -> Values:
    """The rates after a training that helps half of the problems and harms the others."""
    gain, loss = change
    helped = rng.random(rates.shape) < 0.5
    return np.where(helped, rates + (1 - rates) * gain, rates * (1 - loss))


def pass_truth(p: float, spread: float, k: int) -> float:
    """1 - E (1 - p)^k of the population."""
    if not spread:
        return 1 - (1 - p) ** k
    order = np.arange(k)
    return float(1 - np.prod(((1 - p) * spread + order) / (spread + order)))


def pairs(
    setting: Setting, rng: np.random.Generator, changes: Sequence[tuple[float, float]] = CHANGES
) -> Iterator[tuple[str, Values, Values, Values, Values]]:
    """Point, right answers before and after, and the rates of a population before and after."""
    for (n, p, spread, point), change in product([*grid(setting)], changes):
        before = rates_of(p, spread, (setting.evaluations, n), rng)
        after = changed(before, change, rng)
        all_before = rates_of(p, spread, (setting.population,), rng)
        all_after = changed(all_before, change, rng)
        counts = [rng.binomial(ANSWERS, side).astype(float) for side in (before, after)]
        yield f"{point} {'changed' if any(change) else 'same'}", *counts, all_before, all_after


# --- kinds


def wilson(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    z = np.array(normal_quantile(0.95))
    for n, p in product(setting.problems, setting.rates):
        right = rng.binomial(n, p, 10 * setting.evaluations) / n
        kind.add(f"n={n} p={p:g}", score_ends(right, np.array(float(n)), z), p)
    return kind


def clustered(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    for n, p, spread, point in grid(setting):
        rates = rates_of(p, spread, (setting.evaluations, n), rng)
        shares = rng.binomial(ANSWERS, rates) / ANSWERS
        kind.add(point, mean_ends(shares, samples=float(n * ANSWERS))[1:], p)
    return kind


def bootstrap(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    for n, p, spread, point in grid(setting):
        rates = rates_of(p, spread, (setting.evaluations, n), rng)
        kind.add(point, bootstrap_ends(rng.binomial(ANSWERS, rates) / ANSWERS, 0.0, 1.0), p)
    return kind


def pass_at(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    for n, p, spread, point in grid(setting):
        right = rng.binomial(ANSWERS, rates_of(p, spread, (setting.evaluations, n), rng))
        for k in KS:
            values = pass_at_k_values(np.array(float(ANSWERS)), right, k)
            ends = mean_ends(values, samples=float(n * ANSWERS))[1:]
            kind.add(f"{point} k={k}", ends, pass_truth(p, spread, k))
    return kind


def paired(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    for point, before, after, all_before, all_after in pairs(setting, rng):
        truth = float((all_after - all_before).mean())
        kind.add(point, paired_ends(before / ANSWERS, after / ANSWERS)[1:], truth)
    return kind


def unpaired(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    """Each side with problems of its own: those of the evaluation before, drawn apart."""
    for point, before, after, all_before, all_after in pairs(setting, rng):
        samples = float(before.shape[-1] * ANSWERS)
        sides = [mean_ends(v / ANSWERS, samples=samples) for v in (np.roll(before, 1, 0), after)]
        kind.add(point, unpaired_ends(*sides)[1:], float((all_after - all_before).mean()))
    return kind


def paired_pass_at(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    for point, before, after, all_before, all_after in pairs(setting, rng):
        for k in KS:
            truth = float(((1 - all_before) ** k - (1 - all_after) ** k).mean())
            values = [
                pass_at_k_values(np.array(float(ANSWERS)), side, k) for side in (before, after)
            ]
            kind.add(f"{point} k={k}", paired_ends(*values)[1:], truth)
    return kind


def votes_of(rates: Values, answers: int, rng: np.random.Generator) -> Values:
    """[..., 5] votes for the right answer, three others and none."""
    wrong = np.array([*VOTES, 1 - sum(VOTES)])
    shares = np.concatenate([rates[..., None], (1 - rates)[..., None] * wrong], -1)
    return rng.multinomial(answers, shares / shares.sum(-1, keepdims=True))


def majorities(votes: Values, k: int) -> Values:
    """maj@k of each problem; the same votes are counted once."""
    right, others, silent = votes[..., :1], np.sort(votes[..., 1:4], -1), votes[..., 4:]
    flat = np.concatenate([right, others, silent], -1).reshape(-1, 5)
    codes = flat @ (ANSWERS + 1) ** np.arange(5)
    _, first, back = np.unique(codes, return_index=True, return_inverse=True)
    ballots = [Ballot(int(r), tuple(map(int, rest[:3])), int(rest[3])) for r, *rest in flat[first]]
    return np.array([maj_at_k(one, k) for one in ballots])[back].reshape(votes.shape[:-1])


def majority(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    for n, p, spread, point in grid(setting):
        votes = votes_of(rates_of(p, spread, (setting.evaluations, n), rng), ANSWERS, rng)
        population = rates_of(p, spread, (setting.population,), rng)
        for k in (4, 16):
            drawn = votes_of(population, k, rng)
            truth = float((drawn[:, 0] > drawn[:, 1:4].max(-1)).mean())
            kind.add(f"{point} k={k}", mean_ends(majorities(votes, k))[1:], truth)
    return kind


def paired_majority(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    k = 4
    for (n, p, spread, point), change in product([*grid(setting)], CHANGES):
        before = rates_of(p, spread, (setting.evaluations, n), rng)
        sides = [votes_of(side, ANSWERS, rng) for side in (before, changed(before, change, rng))]
        whole = rates_of(p, spread, (setting.population,), rng)
        drawn = [votes_of(side, k, rng) for side in (whole, changed(whole, change, rng))]
        first, second = (float((v[:, 0] > v[:, 1:4].max(-1)).mean()) for v in drawn)
        truth = second - first if any(change) else 0.0
        kind.add(f"{point} {change}", paired_ends(*(majorities(s, k) for s in sides))[1:], truth)
    return kind


def turned(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    for n, p, (gain, loss) in product(setting.problems, setting.rates, TURNS):
        shares = [(1 - p) * gain, p * loss]
        counts = rng.multinomial(n, [*shares, 1 - sum(shares)], 5 * setting.evaluations)
        found, back = np.unique(counts, axis=0, return_inverse=True)
        each = [gained_minus_lost(int(row[0]), int(row[1]), n) for row in found]
        low, high = (np.array([getattr(e, end) for e in each])[back] for end in ("low", "high"))
        kind.add(f"n={n} p={p:g} gained {gain:g} lost {loss:g}", (low, high), shares[0] - shares[1])
    return kind


def catching_up(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    """A policy that was sharpened: some problems solved nearly always, the others more rarely."""
    for n, (p, spread), (share, left) in product(
        setting.problems, ((0.1, 1.0), (0.2, 4.0), (0.3, 2.0), (0.4, 8.0)), ((0.3, 0.3), (0.5, 0.2))
    ):

        def sharpened(rates: Values, share: float = share, left: float = left) -> Values:
            return np.where(rng.random(rates.shape) < share, 1 - (1 - rates) * 0.3, rates * left)

        before = rates_of(p, spread, (setting.evaluations, n), rng)
        whole = rates_of(p, spread, (setting.population,), rng)
        curve = [(1 - whole) ** k - (1 - sharpened(whole)) ** k for k in range(1, ANSWERS + 1)]
        truth = crossing(np.array([one.mean() for one in curve]))
        if truth is None or truth <= 1:
            continue
        sides = [rng.binomial(ANSWERS, side).astype(float) for side in (before, sharpened(before))]
        ahead = sides[1].sum(-1) > sides[0].sum(-1)  # else it is not asked
        ends = crossings(*(s[ahead] for s in sides))
        kind.add(f"n={n} p={p:g} Beta({spread:g}) {share:g}", ends, truth)
    return kind


def crossings(before: Values, after: Values) -> Ends:
    n = np.array(float(ANSWERS))
    each = [
        paired_ends(pass_at_k_values(n, before, k), pass_at_k_values(n, after, k))
        for k in range(1, ANSWERS + 1)
    ]
    low, high = (np.array([ends[side] for ends in each]).T for side in (1, 2))
    found = [
        [np.inf if (k := crossing(row)) is None else k for row in side] for side in (low, high)
    ]
    first, last = np.array(found)
    return np.where(np.isinf(first), ANSWERS, first), last


def pooled_cases(setting: Setting) -> Iterator[tuple[int, float, float, int, str]]:
    for n, p, training, seeds in product(setting.problems, setting.rates, TRAINING, SEEDS):
        if n != 100:  # the effects are in the seeds: three sizes tell
            yield n, p, training, seeds, f"n={n} p={p:g} {seeds} seeds {training:g}"


def answered(ease: Values, training: float, seeds: int, rng: np.random.Generator) -> Values:
    """[evaluations, seeds, n] solve rates of seeds that differ as wholes and problem by problem."""
    shape = (ease.shape[0], seeds, ease.shape[-1])
    logits = ease + training * rng.normal(size=(shape[0], seeds, 1)) + 0.5 * rng.normal(size=shape)
    return rng.binomial(ANSWERS, 1 / (1 + np.exp(-logits))) / ANSWERS


def mean_rate(ease: float, *spreads: float) -> float:
    """The mean of the logistic of a normal with these standard deviations, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    values = 1 / (1 + np.exp(-(ease + np.sqrt(sum(s * s for s in spreads)) * nodes)))
    return float(values @ weights / weights.sum())


def pooled(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    for n, p, training, seeds, point in pooled_cases(setting):
        ease = np.log(p / (1 - p)) + rng.normal(size=(setting.evaluations, 1, n))
        truth = mean_rate(np.log(p / (1 - p)), 1.0, training, 0.5)
        kind.add(point, pooled_mean_ends(answered(ease, training, seeds, rng))[1:], truth)
    return kind


def pooled_arms(kind: Kind, setting: Setting, rng: np.random.Generator) -> Kind:
    """Two arms of seeds, and an arm against the base that all of its seeds began from."""
    for n, p, training, seeds, point in pooled_cases(setting):
        odds = np.log(p / (1 - p))
        ease = odds + rng.normal(size=(setting.evaluations, 1, n))
        after = answered(ease + 0.5, training, seeds, rng)
        truth = mean_rate(odds + 0.5, 1.0, training, 0.5)
        other = answered(ease, training, seeds, rng)
        base = rng.binomial(ANSWERS, 1 / (1 + np.exp(-ease))) / ANSWERS
        gain = truth - mean_rate(odds, 1.0, training, 0.5)
        kind.add(f"{point} arms", pooled_difference_ends(other, after)[1:], gain)
        kind.add(
            f"{point} base", pooled_difference_ends(base, after)[1:], truth - mean_rate(odds, 1)
        )
    return kind


def false_alarms() -> Values:
    """The exact chance of p < .05 where nothing changed, by the number of problems that differ."""
    found = []
    for total in range(1, 101):
        p_values = np.array([mcnemar(gained, total - gained) for gained in range(total + 1)])
        chances = np.exp(_log_binomial(total))
        found.append(float(chances[p_values < 0.05].sum()))
    return np.array(found)


def _log_binomial(total: int) -> Values:
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, total + 1)))])
    return logs[total] - logs - logs[::-1] - total * np.log(2)


KINDS: dict[str, Callable[[Kind, Setting, np.random.Generator], Kind]] = {
    "a rate (Wilson)": wilson,
    "a rate over problems": clustered,
    "a mean, by bootstrap": bootstrap,
    "pass@k": pass_at,
    "maj@k": majority,
    "paired difference": paired,
    "paired pass@k": paired_pass_at,
    "paired maj@k": paired_majority,
    "gained minus lost": turned,
    "where the base catches up": catching_up,
    "several seeds": pooled,
    "several seeds, difference": pooled_arms,
    "unpaired difference": unpaired,
}


if __name__ == "__main__":
    sys.exit(main())
