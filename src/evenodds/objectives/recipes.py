"""The named objectives, each one line over the axes; every axis can be changed by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenodds.credit import CREDITS, centered, leave_one_out, standardized
from evenodds.errors import UsageError, unknown
from evenodds.objectives.objective import Objective
from evenodds.objectives.ratio import RATIOS
from evenodds.objectives.reduce import REDUCTIONS, per_answer, per_budget, per_token
from evenodds.objectives.surrogate import Clip, Reinforce

RECIPES: dict[str, Objective] = {
    "dr_grpo": Objective(credit=centered, reduce=per_budget),
    "grpo": Objective(credit=standardized, surrogate=Clip(0.2, 0.2), reduce=per_answer),
    "dapo": Objective(credit=standardized, surrogate=Clip(0.2, 0.28), reduce=per_token),
    "rloo": Objective(credit=leave_one_out, surrogate=Reinforce(), reduce=per_budget),
}

SURROGATES = ("clip", "reinforce")


def _pick(kind: str, name: str, table: dict[str, Any]) -> Any:
    if name not in table:
        raise unknown(kind, name, table)
    return table[name]


def _surrogate(
    base: Clip | Reinforce, name: str | None, low: float | None, high: float | None
) -> Clip | Reinforce:
    if name is not None and name not in SURROGATES:
        raise unknown("surrogate", name, SURROGATES)
    if name == "reinforce" or (name is None and isinstance(base, Reinforce)):
        if low is not None or high is not None:
            raise UsageError(
                "objective.clip_low and clip_high have no meaning: the surrogate is 'reinforce'. "
                "Leave them out, or set objective.surrogate to 'clip'."
            )
        return Reinforce()
    start = base if isinstance(base, Clip) else Clip()
    return Clip(start.low if low is None else low, start.high if high is None else high)


def make_objective(
    recipe: str = "dr_grpo",
    *,
    credit: str | None = None,
    ratio: str | None = None,
    surrogate: str | None = None,
    reduce: str | None = None,
    clip_low: float | None = None,
    clip_high: float | None = None,
    mask_truncated: bool = True,
) -> Objective:
    """A recipe with some of its axes changed. Raises `UsageError` for an unknown name."""
    base: Objective = _pick("objective", recipe, RECIPES)
    changed: dict[str, Any] = {
        "surrogate": _surrogate(base.surrogate, surrogate, clip_low, clip_high),
        "mask_truncated": mask_truncated,
    }
    if credit is not None:
        changed["credit"] = _pick("credit", credit, CREDITS)
    if ratio is not None:
        changed["ratio"] = _pick("ratio level", ratio, RATIOS)
    if reduce is not None:
        changed["reduce"] = _pick("reduction", reduce, REDUCTIONS)
    return replace(base, **changed)
