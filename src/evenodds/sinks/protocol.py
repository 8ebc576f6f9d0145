"""What a sink is: somewhere that the numbers of a run also go to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class RunFacts:
    """What a sink is told of the run. config: nested settings; it holds no secrets."""

    name: str
    folder: Path
    title: str
    config: Mapping[str, Any]


class Sink(Protocol):
    """Gets the numbers of each step, and at the end those of the whole run.

    What it raises is told once and ends the sink, never the run. Its methods are called in a
    thread of its own, one after the other.
    """

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """The metrics of a step by name; steps rise, but some may come again after a resume."""
        ...

    def summary(self, values: Mapping[str, float]) -> None:
        """What the run came to: gains with the ends of their intervals."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


Factory = Callable[[RunFacts], Sink]
