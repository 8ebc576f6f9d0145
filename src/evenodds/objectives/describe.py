"""An objective in words: its axes by name."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from typing import Any

from evenodds.objectives.choose import named
from evenodds.objectives.objective import Objective


def _surrogate(surrogate: Any) -> str:
    """`clip 0.2/0.28`: the name and its settings in order."""
    if not is_dataclass(surrogate) or isinstance(surrogate, type):
        return named(surrogate)
    numbers = [f"{value:g}" for value in asdict(surrogate).values() if isinstance(value, float)]
    return " ".join([named(surrogate), *(["/".join(numbers)] if numbers else [])])


def _extras(objective: Objective) -> list[str]:
    """What most objectives have not."""
    kl = objective.kl_loss
    weighted = " weighted" if kl and kl.weighted else ""
    correction = objective.correction
    found = {
        f"correction {named(correction)} {correction.cap:g}" if correction else "": correction,
        f"kl {kl.coefficient:g} {kl.estimator}{weighted} in the loss" if kl else "": kl,
        f"kl {objective.kl_reward:g} in the reward": objective.kl_reward,
        "kl measured": objective.measure_kl,
        f"entropy {objective.entropy:g}": objective.entropy,
        f"overlong {objective.overlong:g}": objective.overlong,
    }
    return [words for words, on in found.items() if on]


def record_of(objective: Objective) -> dict[str, Any]:
    """Every field as plain JSON data, functions by their names."""
    return {field.name: _plain(getattr(objective, field.name)) for field in fields(objective)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"name": named(value), **inner}
    return named(value) if callable(value) else value


def axes_of(objective: Objective) -> str:
    """`credit centered, ratio token, clip 0.2/0.28, reduce per_budget, truncated masked, ...`."""
    whitened = " whitened" if objective.whiten else ""
    parts = [
        f"credit {named(objective.credit)}{whitened}",
        f"ratio {named(objective.ratio)}",
        _surrogate(objective.surrogate),
        f"reduce {named(objective.reduce)}",
        f"truncated {'masked' if objective.mask_truncated else 'scored'}",
        f"zero signal {objective.zero_signal}",
        *_extras(objective),
    ]
    return ", ".join(parts)
