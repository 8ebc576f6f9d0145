"""What a check of the preflight has to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from evenodds.errors import sentences

Level = Literal["fatal", "warning", "fine", "skipped"]

BAD: tuple[Level, ...] = ("fatal", "warning")


@dataclass(frozen=True)
class Finding:
    """name: of the check, by which it can be ignored. what: was found, with its figures.

    why: it matters. change: a setting with a value, as one would type it; empty where there is
    nothing to change. fatal: the run would be wrong or worth nothing, so it is refused. warning:
    it may be meant. skipped: could not be looked at, and `what` says why.
    """

    name: str
    level: Level
    what: str
    why: str = ""
    change: str = ""

    def to_dict(self) -> dict[str, str]:
        return asdict(self)

    @property
    def sentence(self) -> str:
        """What was found and what to change, in one line."""
        change = f"Change: {self.change}" if self.change else ""
        return sentences(f"{self.name}: {self.what}", change)


def fatal(findings: Sequence[Finding], ignored: Iterable[str]) -> list[Finding]:
    """The fatal findings that are not ignored."""
    kept = set(ignored)
    return [f for f in findings if f.level == "fatal" and f.name not in kept]
