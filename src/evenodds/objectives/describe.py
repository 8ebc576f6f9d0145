"""An objective in words: its axes by name."""

from __future__ import annotations

from typing import Any

from evenodds.objectives.objective import Objective
from evenodds.objectives.surrogate import Clip


def _name(choice: Any) -> str:
    return getattr(choice, "__name__", type(choice).__name__)


def axes_of(objective: Objective) -> str:
    """`credit centered, ratio token, clip 0.2/0.28, reduce per_budget, truncated masked`."""
    surrogate = objective.surrogate
    shown = (
        f"clip {surrogate.low:g}/{surrogate.high:g}"
        if isinstance(surrogate, Clip)
        else _name(surrogate).lower()
    )
    truncated = "masked" if objective.mask_truncated else "scored"
    return (
        f"credit {_name(objective.credit)}, ratio {_name(objective.ratio)}, {shown}, "
        f"reduce {_name(objective.reduce)}, truncated {truncated}"
    )
