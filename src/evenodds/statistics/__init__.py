"""How sure a number is: rates with intervals, pass@k, and how many groups tell anything.

A rate is a share in [0, 1]. The unit of independence is the problem, never the answer: answers to
one problem resemble each other, so intervals that count answers as if they were independent are
too narrow. No interval here has zero width, whatever the data; only the ends 0 and 1 cut it off.
"""

from evenodds.statistics.estimate import Estimate
from evenodds.statistics.groups import (
    expected_draws_for_informative_groups,
    informative_group_probability,
)
from evenodds.statistics.means import bootstrap_interval, paired_difference
from evenodds.statistics.pass_at import pass_at_k, pass_at_k_curve, pass_at_k_independent
from evenodds.statistics.rates import clustered_rate, wilson_interval

__all__ = [
    "Estimate",
    "bootstrap_interval",
    "clustered_rate",
    "expected_draws_for_informative_groups",
    "informative_group_probability",
    "paired_difference",
    "pass_at_k",
    "pass_at_k_curve",
    "pass_at_k_independent",
    "wilson_interval",
]
