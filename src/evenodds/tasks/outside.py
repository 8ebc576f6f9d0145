"""Which task lies outside of what another one teaches, so that training should leave it alone."""

from __future__ import annotations

OUTSIDE = {
    "multiplication": "addition",
    "addition": "multiplication",
    "subtraction": "multiplication",
    "division": "addition",
    "modular": "addition",
    "chained": "reverse",
    "countdown": "reverse",
    "reverse": "addition",
    "instructions": "addition",
    "json-extraction": "addition",
}
"""By the name of the task that is trained: one that asks for another skill in the same signs."""
