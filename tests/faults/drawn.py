"""What a budget of seconds allows: all of it, or a random share from a seed that is printed."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def drawn(items: Sequence[T], budget: float | None, seed: int | None = None) -> Iterator[T]:
    """The items in random order until the seconds are over, at least one; budget None: all.

    The seed is printed, and pytest shows it where a test fails.
    """
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    print(f"drawn with seed {seed}", file=sys.stderr)
    order = list(items)
    random.Random(seed).shuffle(order)
    until = float("inf") if budget is None else time.monotonic() + budget
    for place, item in enumerate(order):
        if place and time.monotonic() >= until:
            return
        yield item
