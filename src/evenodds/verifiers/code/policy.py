"""The policy table of `code`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from evenodds.errors import UsageError

LONGEST = 100.0
"""Seconds that an answer may be tested for at the most; the judge waits a little longer."""


@dataclass(frozen=True)
class Policy:
    """How programs are found, run and paid.

    fence: what a program must stand in. `python` wants a fence that names Python; `any` also takes
    a fence that names nothing and, where there is no fence at all, the whole answer.
    seconds: CPU time of each test; by the wall clock three times as much. total_seconds: by the
    wall clock, for all tests of an answer. A program that needs more is wrong, not unjudged.
    memory_mb: address space of the program, in MiB.
    max_tests: of more input/output tests so many are run, evenly spread, the last among them.
    tolerance: between decimals, absolute below 1 and relative above; whole numbers are exact.
    partial: pay the share of the tests that passed; otherwise all must pass.
    in_place: when what a function did to its arguments is seen by the tests: `if_none` where it
    returned None, as functions that work in place do; or `never`.
    """

    fence: Literal["python", "any"] = "any"
    seconds: float = 4.0
    total_seconds: float = 20.0
    memory_mb: int = 512
    max_tests: int = 50
    tolerance: float = 1e-6
    partial: bool = False
    in_place: Literal["if_none", "never"] = "if_none"

    def __post_init__(self) -> None:
        bounds = {
            "seconds": (self.seconds, 0.05, LONGEST),
            "total_seconds": (self.total_seconds, 0.05, LONGEST),
            "memory_mb": (self.memory_mb, 64, 65536),
            "max_tests": (self.max_tests, 1, 100_000),
            "tolerance": (self.tolerance, 0.0, 1.0),
        }
        for name, (value, low, high) in bounds.items():
            if not low <= value <= high:
                raise UsageError(
                    f"the policy {name!r} of the verifier 'code' is unfit. Got {value}. "
                    f"Use {low:g} to {high:g}."
                )


DEFAULT = Policy()

T = TypeVar("T")


def spread(items: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of the items, evenly spread; the first and the last are among them."""
    if len(items) <= most:
        return items
    if most == 1:
        return items[-1:]
    return [items[at * (len(items) - 1) // (most - 1)] for at in range(most)]
