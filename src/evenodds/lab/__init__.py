"""Where the theory is checked: formulas to work through by hand, and policies solved exactly.

Names are imported when they are asked for; those here need numpy only, never torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenodds.lab.finite import Ascent as Ascent
    from evenodds.lab.finite import Question as Question
    from evenodds.lab.finite import ascend as ascend
    from evenodds.lab.finite import exact_gradient as exact_gradient
    from evenodds.lab.finite import optimum as optimum
    from evenodds.lab.teaching import Contributions as Contributions
    from evenodds.lab.teaching import categorical_entropy as categorical_entropy
    from evenodds.lab.teaching import clip_activity as clip_activity
    from evenodds.lab.teaching import clipped_surrogate_terms as clipped_surrogate_terms
    from evenodds.lab.teaching import dapo_token_weights as dapo_token_weights
    from evenodds.lab.teaching import dr_grpo_token_weights as dr_grpo_token_weights
    from evenodds.lab.teaching import flatten_token_weights as flatten_token_weights
    from evenodds.lab.teaching import group_relative_advantages as group_relative_advantages
    from evenodds.lab.teaching import grpo_token_weights as grpo_token_weights
    from evenodds.lab.teaching import response_contributions as response_contributions
    from evenodds.lab.teaching import verify_numeric_answer as verify_numeric_answer
    from evenodds.statistics import (
        expected_draws_for_informative_groups as expected_draws_for_informative_groups,
    )
    from evenodds.statistics import informative_group_probability as informative_group_probability
    from evenodds.statistics import pass_at_k as pass_at_k
    from evenodds.statistics import pass_at_k_independent as pass_at_k_independent

EXPORTS = {
    "evenodds.lab.finite": ("Ascent", "Question", "ascend", "exact_gradient", "optimum"),
    "evenodds.lab.teaching": (
        "Contributions",
        "categorical_entropy",
        "clip_activity",
        "clipped_surrogate_terms",
        "dapo_token_weights",
        "dr_grpo_token_weights",
        "flatten_token_weights",
        "group_relative_advantages",
        "grpo_token_weights",
        "response_contributions",
        "verify_numeric_answer",
    ),
    "evenodds.statistics": (
        "expected_draws_for_informative_groups",
        "informative_group_probability",
        "pass_at_k",
        "pass_at_k_independent",
    ),
}
HOMES = {name: module for module, names in EXPORTS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'evenodds.lab' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(HOMES)
