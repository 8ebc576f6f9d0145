"""What a nat of entropy is paid, moved each step so that the entropy stays at a target.

A frozen value with state, like a curriculum: observing gives a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from evenodds.errors import UsageError
from evenodds.objectives.objective import Objective


@dataclass(frozen=True)
class EntropyBonus:
    """coefficient: nats to value. target: nats a token that shall not be fallen below.

    The coefficient rises by `step` after an update that saw less entropy than the target, falls by
    `step`, never below 0, after one that saw more, and pays nothing while there is more.
    Skywork-OR1, arXiv 2505.22312. seen: the entropy of the last update, None before the first.
    """

    target: float
    coefficient: float = 0.0
    step: float = 0.005
    seen: float | None = None

    @property
    def paid(self) -> float:
        """The coefficient that the next update uses."""
        return 0.0 if self.seen is not None and self.seen > self.target else self.coefficient

    def applied(self, objective: Objective) -> Objective:
        """The objective with this bonus."""
        return replace(objective, entropy=self.paid)

    def observe(self, entropy: float) -> EntropyBonus:
        """The bonus after an update that saw this mean entropy, nats a token."""
        move = self.step if entropy < self.target else -self.step
        return replace(self, coefficient=max(0.0, self.coefficient + move), seen=entropy)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> EntropyBonus:
        return cls(**saved)


def make_bonus(coefficient: float, target: float | None, step: float | None) -> EntropyBonus | None:
    """None where the coefficient is fixed. Raises `UsageError` for a step without a target."""
    if target is None and step is not None:
        raise UsageError(
            "objective.entropy_step has no meaning: there is no objective.entropy_target. "
            "Leave it out, or set a target."
        )
    if target is None:
        return None
    return EntropyBonus(target, coefficient, EntropyBonus.step if step is None else step)
