"""Checks that all curricula share."""

from __future__ import annotations

from typing import Any

from evenodds.errors import UsageError


def require_number(
    kind: str, name: str, value: Any, low: float, high: float, inclusive: bool = True
) -> None:
    """Raise UsageError unless value is a finite number from low to high (or strictly between)."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and low <= value <= high and (inclusive or value not in (low, high)):
        return
    ends = f"from {low:g} to {high:g}" if inclusive else f"above {low:g} and below {high:g}"
    raise UsageError(f"{kind} cannot use this {name}. Got {value!r}. Give a number {ends}.")
