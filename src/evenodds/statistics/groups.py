"""How many groups of answers tell anything."""

from __future__ import annotations

import math

from evenodds.statistics.checks import require_count, require_share


def informative_group_probability(p: float, group_size: int) -> float:
    """1 - p^G - (1-p)^G: the chance that G independent answers do not all agree.

    p: solve rate of the problem, in [0, 1]. A group that agrees has no advantage, so no gradient.
    Computed from the rarer outcome, so that it is exact where p is within 1e-12 of an end.
    """
    require_share("p", p)
    require_count("group_size", group_size, 1)
    rare = min(p, 1 - p)
    return max(0.0, -math.expm1(group_size * math.log1p(-rare)) - rare**group_size)


def expected_draws_for_informative_groups(p: float, group_size: int, groups: int) -> float:
    """Groups to sample, on average, until `groups` of them are informative; inf if none can be."""
    require_count("groups", groups, 0)
    chance = informative_group_probability(p, group_size)
    if groups == 0:
        return 0.0
    return groups / chance if chance > 0 else math.inf
