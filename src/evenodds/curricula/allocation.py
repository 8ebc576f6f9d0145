"""From shares of levels to problems: an allocation with little variance, then distinct draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenodds.curricula.protocol import ProblemSource
from evenodds.domain import Problem
from evenodds.errors import EvenoddsError, RunError
from evenodds.own import failure_of
from evenodds.undisturbed import kept

REDRAWS = 32  # a level of 45 products must still fill a batch of 64


def allocate(weights: Sequence[float], n: int, rng: np.random.Generator) -> list[int]:
    """n levels in random order, each as often as its weight says, to within one problem.

    Systematic sampling (Madow 1944): one random offset, then equal steps through the cumulated
    weights. The expected counts are exactly n times the weights; independent draws would add a
    noise of its own to the solve rate that the controller reads.
    """
    cumulated = np.cumsum(np.asarray(weights, dtype=np.float64))
    points = (rng.random() + np.arange(n)) / n * cumulated[-1]
    last = int(np.flatnonzero(weights)[-1])  # rounding must not reach a level of weight 0
    levels = np.minimum(np.searchsorted(cumulated, points, side="right"), last)
    return rng.permutation(levels).tolist()


def draw(source: ProblemSource, levels: Sequence[int], rng: np.random.Generator) -> list[Problem]:
    """One problem a level; a key that the batch already has is drawn again, up to a limit.

    A task may be a person's own: what it raises is one line that names it, and what it changes in
    the process is put back.
    """
    name = f"the task {getattr(source, 'name', type(source).__name__)}"
    with kept(name):
        try:
            return _drawn(source, levels, rng)
        except EvenoddsError:
            raise
        except BaseException as error:
            what = failure_of(error)
            raise RunError(f"{name} could not make a problem. Got {what}. Mend it.") from error


def _drawn(source: ProblemSource, levels: Sequence[int], rng: np.random.Generator) -> list[Problem]:
    problems: list[Problem] = []
    keys: set[str] = set()
    for level in levels:
        problem = _unlike(keys, source, level, rng)
        keys.add(problem.key)
        problems.append(problem)
    return problems


def _unlike(keys: set[str], source: ProblemSource, level: int, rng: np.random.Generator) -> Problem:
    problem = source.generate(level, rng)
    for _ in range(REDRAWS):
        if problem.key not in keys:
            break
        problem = source.generate(level, rng)
    return problem
