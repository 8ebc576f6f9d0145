"""What an alarm's rule is: one small pure function with a name, a threshold and a remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evenodds.alarms.history import History


@dataclass(frozen=True)
class Sign:
    """What a rule saw. value: in the unit of its threshold. reason: with the run's own numbers."""

    value: float
    reason: str


@dataclass(frozen=True)
class Rule:
    """A sign of trouble by name.

    look: (history, threshold) -> the sign, None where there is none; it is asked at every step.
    sees: what it looks for, in one sentence for `docs/alarms.md`. threshold: the default; measure:
    what it is compared with. remedy: which setting to change.
    """

    name: str
    look: Callable[[History, float], Sign | None]
    threshold: float
    measure: str
    sees: str
    remedy: str
