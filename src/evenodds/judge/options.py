"""How verdicts are bounded: how many processes, how long, and how much memory."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from evenodds.errors import UsageError

MOST_WORKERS = 16  # by default; each is a Python of its own

BOUNDS: dict[str, tuple[float, float]] = {
    "workers": (0, 256),
    "seconds": (1e-9, 86_400),
    "memory_mb": (64, 10_000_000),
}
"""As in the settings of [judge]; a deadline may be shorter still, for a judge made in Python."""


def default_workers() -> int:
    """As many as there are cores for this process, at least 2 and at most 16."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(MOST_WORKERS, max(2, cores))


@dataclass(frozen=True)
class JudgeOptions:
    """How a judge with workers is made.

    workers: processes that judge at the same time; 0 judges in this process, without a deadline.
    seconds: the deadline of one call of the verifier: one answer, or one group for a function that
    takes a group. memory_mb: address space of each process, in MiB.
    """

    workers: int = field(default_factory=default_workers)
    seconds: float = 5.0
    memory_mb: int = 2048

    def __post_init__(self) -> None:
        for name, (low, most) in BOUNDS.items():
            value = getattr(self, name)
            if not low <= value <= most:
                raise UsageError(
                    f"judge.{name} cannot be {value}. Use a number from {low:g} to {most:,g}."
                )
