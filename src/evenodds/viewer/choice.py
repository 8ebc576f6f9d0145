"""What a group page is asked for: measure, recipe, bounds, pass, answer; all in the address."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evenodds.viewer.filters import whole
from evenodds.viewer.scales import BY_NAME

OWN = "own"
LARGEST = 1e6  # of a clip bound


@dataclass(frozen=True)
class Choice:
    """by: a measure; empty: the page chooses. recipe: a name, or the run's own. low, high: other
    clip bounds. turn: of the optimizer passes; empty: the last there is. answer: shown alone."""

    by: str = ""
    recipe: str = OWN
    low: float | None = None
    high: float | None = None
    turn: Literal["first", "last", ""] = ""
    answer: int | None = None

    @property
    def other(self) -> str:
        """What the chosen objective is called, empty where it is the run's own."""
        if self.recipe != OWN:
            return self.recipe
        return "" if self.low is None and self.high is None else "other bounds"

    def query(self, **changes: Any) -> dict[str, Any]:
        """What goes into an address; what is as usual is left out."""
        kept = {
            "by": self.by,
            "recipe": "" if self.recipe == OWN else self.recipe,
            "low": self.low,
            "high": self.high,
            "pass": self.turn,
            "answer": self.answer,
        }
        return {name: v for name, v in {**kept, **changes}.items() if v not in (None, "")}


def choice_of(query: Mapping[str, str]) -> Choice:
    """What an address asks for; what makes no sense is as if it had not been said."""
    by, turn = query.get("by", ""), query.get("pass", "")
    return Choice(
        by=by if by in BY_NAME else "",
        recipe=query.get("recipe", "") or OWN,
        low=_bound(query.get("low")),
        high=_bound(query.get("high")),
        turn="first" if turn == "first" else "last" if turn == "last" else "",
        answer=whole(query.get("answer")),
    )


def _bound(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value <= LARGEST else None
