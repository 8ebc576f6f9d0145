"""Many things tried, two at a time, in random order until a budget is over, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from tests.faults.drawn import drawn

Item = TypeVar("Item")
Found = TypeVar("Found")
EVERY = 10.0  # seconds between two lines of progress


def tried(
    title: str, items: Sequence[Item], one: Callable[[Item], Found], budget: float | None
) -> Iterator[tuple[Item, Found | Exception]]:
    """Each item with what was found of it, or what it raised, as they come; None: all of them."""

    def safe(item: Item) -> tuple[Item, Found | Exception]:
        try:
            return item, one(item)
        except Exception as error:
            return item, error

    started = last = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        for count, found in enumerate(_ahead(pool, safe, drawn(items, budget)), 1):
            yield found
            now = time.monotonic()
            if now - last > EVERY:
                last, left = now, (now - started) / count * (len(items) - count)
                told = f"{title}: {count} of {len(items)}, {now - started:.0f} s, {left:.0f} s left"
                print(f"     {told}", file=sys.stderr, flush=True)


def _ahead(
    pool: ThreadPoolExecutor, one: Callable[[Item], Found], items: Iterator[Item]
) -> Iterator[Found]:
    """The results as they come, with two at work and no more taken than that."""
    working: set[Future[Found]] = set()
    for item in items:
        working.add(pool.submit(one, item))
        if len(working) == 2:
            done, working = wait(working, return_when=FIRST_COMPLETED)
            yield from (found.result() for found in done)
    yield from (found.result() for found in working)
