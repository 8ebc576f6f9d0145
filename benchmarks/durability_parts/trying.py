"""Many stories tried, two at a time, with the time left; those that went amiss are told at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from tests.faults.drawn import drawn
from tests.faults.stories import Setting, Story, tell

EVERY = 10.0  # seconds between two lines of progress


@dataclass
class Tried:
    """count: how many stories were told. amiss: what was wrong, by the name of the story."""

    asked: int
    count: int = 0
    amiss: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def holds(self) -> bool:
        return self.count > 0 and not self.amiss

    def of(self, word: str) -> int:
        """How many stories have something amiss that begins with the word."""
        return sum(any(what.startswith(word) for what in found) for found in self.amiss.values())


def try_all(
    title: str, stories: Mapping[str, Story], setting: Setting, budget: float | None
) -> Tried:
    """All stories, or those that fit into the budget, in random order."""
    tried, started, last = Tried(len(stories)), time.monotonic(), time.monotonic()
    names = drawn(sorted(stories), budget)

    def one(name: str) -> tuple[str, list[str]]:
        try:
            return name, tell(stories[name], setting, name)
        except Exception as error:  # a child that hangs, say, is a finding like any other
            return name, [f"{type(error).__name__}: {error}"]

    with ThreadPoolExecutor(2) as pool:
        for name, amiss in _ahead(pool, one, names):
            tried.count += 1
            if amiss:
                tried.amiss[name] = amiss
                print(f"     {title} {name}: {amiss}", file=sys.stderr, flush=True)
            if time.monotonic() - last > EVERY:
                last = time.monotonic()
                _progress(title, tried, last - started)
    return tried


Found = tuple[str, list[str]]


def _ahead(
    pool: ThreadPoolExecutor, one: Callable[[str], Found], names: Iterator[str]
) -> Iterator[Found]:
    """The results as they come, with two stories at work and no more taken than that."""
    working: set[Future[Found]] = set()
    for name in names:
        working.add(pool.submit(one, name))
        if len(working) == 2:
            done, working = wait(working, return_when=FIRST_COMPLETED)
            yield from (found.result() for found in done)
    yield from (found.result() for found in working)


def _progress(title: str, tried: Tried, seconds: float) -> None:
    left = seconds / tried.count * (tried.asked - tried.count)
    print(
        f"     {title}: {tried.count} of {tried.asked}, {seconds:.0f} s, {left:.0f} s left",
        file=sys.stderr,
        flush=True,
    )
