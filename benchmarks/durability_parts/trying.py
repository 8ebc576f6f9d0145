"""Stories tried, as `many` does; those that went amiss are told at once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from benchmarks.durability_parts.many import tried
from tests.faults.setting import Setting
from tests.faults.stories import Story, tell


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


def together(parts: Iterable[Tried]) -> Tried:
    """The stories of several settings as those of one."""
    found = Tried(0)
    for number, part in enumerate(parts):
        found.asked, found.count = found.asked + part.asked, found.count + part.count
        found.amiss |= {f"{number} {name}": amiss for name, amiss in part.amiss.items()}
    return found


def try_all(
    title: str, stories: Mapping[str, Story], setting: Setting, budget: float | None
) -> Tried:
    """All stories, or those that fit into the budget, in random order."""
    found = Tried(len(stories))

    def one(name: str) -> list[str]:
        return tell(stories[name], setting, name)

    for name, amiss in tried(title, sorted(stories), one, budget):
        found.count += 1
        if isinstance(amiss, Exception):  # a child that hangs, say, is a finding like any other
            amiss = [f"{type(amiss).__name__}: {amiss}"]
        if amiss:
            found.amiss[name] = amiss
            print(f"     {title} {name}: {amiss}", file=sys.stderr, flush=True)
    return found
