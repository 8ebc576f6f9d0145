"""How sure a number is: rates with intervals, pass@k, and how many groups tell anything.

A rate is a share in [0, 1]. The unit of independence is the problem, never the answer: answers to
one problem resemble each other, so intervals that count answers as if they were independent are
too narrow. No interval here has zero width, whatever the data; only the ends 0 and 1 cut it off.
How often each kind of interval holds the truth is measured by `python -m benchmarks.coverage`;
docs/statistics.md has the formulas and the figures.
"""

from evenodds.statistics.bootstrap import bootstrap_interval
from evenodds.statistics.catch_up import CatchUp, catch_up
from evenodds.statistics.differences import (
    gained_minus_lost,
    mcnemar,
    paired_difference,
    unpaired_difference,
)
from evenodds.statistics.estimate import Estimate, percent
from evenodds.statistics.groups import (
    expected_draws_for_informative_groups,
    informative_group_probability,
)
from evenodds.statistics.majority import Ballot, maj_at_k, maj_at_k_curve
from evenodds.statistics.mixed import Mixture, expected_informative, mixture
from evenodds.statistics.pass_at import pass_at_k, pass_at_k_curve, pass_at_k_independent
from evenodds.statistics.rates import clustered_rate, mean_of_shares, wilson_interval
from evenodds.statistics.seeds import pooled_difference, pooled_mean
from evenodds.statistics.several import holm, p_value

__all__ = [
    "Ballot",
    "CatchUp",
    "Estimate",
    "Mixture",
    "bootstrap_interval",
    "catch_up",
    "clustered_rate",
    "expected_draws_for_informative_groups",
    "expected_informative",
    "gained_minus_lost",
    "holm",
    "informative_group_probability",
    "maj_at_k",
    "maj_at_k_curve",
    "mcnemar",
    "mean_of_shares",
    "mixture",
    "p_value",
    "paired_difference",
    "pass_at_k",
    "pass_at_k_curve",
    "pass_at_k_independent",
    "percent",
    "pooled_difference",
    "pooled_mean",
    "unpaired_difference",
    "wilson_interval",
]
