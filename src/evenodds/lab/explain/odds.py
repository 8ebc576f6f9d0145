"""How many groups will teach anything, at solve rates that are given."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from evenodds.objectives import Objective
from evenodds.report.explain import Odds
from evenodds.report.explain_text import signed
from evenodds.run.config import Config
from evenodds.statistics import (
    expected_draws_for_informative_groups,
    informative_group_probability,
)

RATES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def odds_of(objective: Objective, config: Config, target: float | None) -> tuple[Odds, ...]:
    """One row for each solve rate, that of the curriculum's target among them."""
    size = config.sampling.group_size
    rates = sorted({*RATES} if target is None else {*RATES, target})
    sizes = None if objective.whiten else _mean_advantages(objective, size)
    rounds = config.sampling.rounds if objective.zero_signal == "refill" else 1
    return tuple(_odds(p, size, config.sampling.groups, rounds, sizes) for p in rates)


def _odds(p: float, size: int, groups: int, rounds: int, sizes: NDArray[np.float64] | None) -> Odds:
    chance = informative_group_probability(p, size)
    draws = expected_draws_for_informative_groups(p, size, 1)
    found = refilled(chance, groups, rounds)
    mean = None if sizes is None else float(binomial(size, p) @ sizes)
    return Odds(p, chance, draws if math.isfinite(draws) else None, *found, mean)


def refilled(chance: float, groups: int, rounds: int) -> tuple[float, float, float]:
    """Expected informative groups, groups drawn, and rounds, where `step.answered` refills.

    Each of the `groups` places is filled again until it is informative, `rounds` times at most, so
    places are independent, and a place is still empty after k rounds with chance (1 - chance)^k.
    """
    empty = [(1 - chance) ** k for k in range(rounds + 1)]
    useful, drawn = groups * (1 - empty[rounds]), groups * sum(empty[:rounds])
    turns = sum(-math.expm1(groups * math.log1p(-e)) if e < 1 else 1.0 for e in empty[:rounds])
    return useful, drawn, turns


def binomial(size: int, p: float) -> NDArray[np.float64]:
    """[size + 1] the chance of c right answers among `size` independent ones."""
    logs = np.array([math.lgamma(k + 1) for k in range(size + 1)])
    counts = np.arange(size + 1)
    ways = logs[-1] - logs - logs[::-1]
    return np.exp(ways + counts * math.log(p) + (size - counts) * math.log1p(-p))


def _mean_advantages(objective: Objective, size: int) -> NDArray[np.float64]:
    """[size + 1] mean |A| of a group with c right answers, by the objective's own credit."""
    places = np.arange(size)
    groups = ((places < right).astype(np.float64) for right in range(size + 1))
    return np.array([np.abs(objective.credit(rewards)).mean() for rewards in groups])


def lone_of(objective: Objective, size: int) -> tuple[float, float] | None:
    """A of the only right answer among `size`, and of each of the others."""
    if objective.whiten:
        return None
    found = objective.credit((np.arange(size) == 0).astype(np.float64))
    return float(found[0]), float(found[1])


def agreeing_of(objective: Objective, size: int) -> tuple[float, float]:
    """A of each answer of a group that is all right, and all wrong, before any whitening."""
    right, wrong = (objective.credit(np.full(size, reward)) for reward in (1.0, 0.0))
    return float(right[0]), float(wrong[0])


def pays_agreement(objective: Objective, size: int) -> bool:
    """Whether groups whose rewards agree are learned from all the same."""
    return objective.whiten or any(agreeing_of(objective, size))


def counted_of(objective: Objective, size: int) -> tuple[str, ...]:
    """What the table counts as informative, and what beside that is learned from."""
    pays = pays_agreement(objective, size)
    penalised = objective.overlong or objective.kl_reward
    what = "its scores differ" if pays or penalised else "its answers differ"
    return (
        f"informative: {what}; all problems at this solve rate, scores of 0 or 1",
        *_uncounted(objective, size, pays),
    )


def _uncounted(objective: Objective, size: int, pays: bool) -> Iterator[str]:
    if objective.kl_reward:
        yield (
            "not counted: with a KL in the reward no group agrees once the policy has moved, so "
            "all of them teach; those whose scores agree teach the KL alone. mean |A|: without KL"
        )
    if objective.whiten:
        yield "not counted: groups that agree, which whitening compares with the rest of the step"
    elif pays:
        right, wrong = agreeing_of(objective, size)
        yield (
            f"not counted: groups that agree, which are learned from as well. A is {signed(right)} "
            f"where all are right, {signed(wrong)} where all are wrong; mean |A| has them"
        )
