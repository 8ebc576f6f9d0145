"""What a policy did on each problem, as a share in [0, 1]: the numbers that are compared."""

from __future__ import annotations

import math

import numpy as np

from evenodds.evaluation import Tally, Values
from evenodds.evaluation.summary import ballots_of
from evenodds.statistics import maj_at_k
from evenodds.statistics.pass_at import pass_at_k_values


def pass_rates(tally: Tally, k: int) -> Values:
    """[problems] unbiased pass@k; NaN for a problem with fewer than k judged answers."""
    enough = tally.tries >= k
    found = np.full(tally.tries.shape, math.nan)
    found[enough] = pass_at_k_values(tally.tries[enough], tally.right[enough], k)
    return found


def majorities(tally: Tally, k: int) -> Values:
    """[problems] unbiased maj@k; NaN for a problem with fewer than k judged answers.

    All NaN where the record has no votes. Every problem must have a judged answer.
    """
    ballots = ballots_of(tally)
    if not ballots:
        return np.full(tally.tries.shape, math.nan)
    return np.array([maj_at_k(one, k) if one.answers >= k else math.nan for one in ballots])
