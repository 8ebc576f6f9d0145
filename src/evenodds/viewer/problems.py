"""Held-out problems one by one: what was right before, and what after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from evenodds.evaluation import Record
from evenodds.report.record import RunRecord
from evenodds.viewer.filters import MOST_TEXT, whole

KINDS = ("gained", "lost", "kept", "never")


@dataclass(frozen=True)
class Count:
    """Right answers of those judged, and whether the greedy one was right, where there was one."""

    right: int
    tries: int
    greedy: bool | None

    @property
    def rate(self) -> float:
        return self.right / self.tries if self.tries else 0.0


@dataclass(frozen=True)
class Problem:
    """One held-out problem. A side is None where it was not measured, or nothing was judged.

    prompt: its end, where that is known; a key may be a hash that tells a person nothing.
    """

    level: int
    label: str
    key: str
    before: Count | None
    after: Count | None
    prompt: str = ""

    @property
    def kind(self) -> str:
        """One of `KINDS`, by whether any sampled answer was right; empty with one side only."""
        if self.before is None or self.after is None:
            return ""
        names = {(0, 1): "gained", (1, 0): "lost", (1, 1): "kept", (0, 0): "never"}
        return names[bool(self.before.right), bool(self.after.right)]

    @property
    def change(self) -> float | None:
        """The share that is right after, less that before."""
        if self.before is None or self.after is None:
            return None
        return self.after.rate - self.before.rate


SORTS: dict[str, tuple[str, Callable[[Problem], Any]]] = {
    "up": ("most gained first", lambda problem: -(problem.change or 0.0)),
    "down": ("most lost first", lambda problem: problem.change or 0.0),
    "level": ("by level", lambda problem: problem.level),
}


@dataclass(frozen=True)
class Asked:
    """What a list of problems is narrowed to, as it stands in the address."""

    kind: str = ""
    level: int | None = None
    q: str = ""
    sort: str = "up"

    def pairs(self, **changes: Any) -> dict[str, str]:
        kept = replace(self, **changes)
        found = {"kind": kept.kind, "level": kept.level, "q": kept.q, "sort": kept.sort}
        plain = vars(Asked())
        return {name: str(value) for name, value in found.items() if value != plain[name]}


def asked_of(query: Mapping[str, str]) -> Asked:
    """What an address asks for; what makes no sense narrows nothing."""
    kind, sort = query.get("kind", ""), query.get("sort", "")
    return Asked(
        kind if kind in KINDS else "",
        whole(query.get("level")),
        query.get("q", "").strip()[:MOST_TEXT],
        sort if sort in SORTS else "up",
    )


def problems_of(run: RunRecord) -> list[Problem]:
    """Every problem of either evaluation, in the order of levels and of the records."""
    before, after = _counts(run.base), _counts(run.final)
    labels = {**_labels(run.final), **_labels(run.base)}
    return [
        Problem(level, labels.get(level) or f"level {level}", key, before.get(at), after.get(at))
        for at in sorted({**before, **after}, key=lambda at: at[0])
        for level, key in [at]
    ]


def _levels(record: Record | None) -> Sequence[Record]:
    return cast(Sequence[Record], (record or {}).get("levels", []))


def _labels(record: Record | None) -> dict[int, str]:
    return {int(level["level"]): str(level.get("label", "")) for level in _levels(record)}


def _counts(record: Record | None) -> dict[tuple[int, str], Count]:
    """By level and key. The record was checked when it was read: its numbers are numbers."""
    found: dict[tuple[int, str], Count] = {}
    for level in _levels(record):
        for problem in cast(Sequence[Record], level.get("problems", [])):
            tries, greedy = int(problem.get("tries") or 0), problem.get("greedy_right")
            if tries:
                count = Count(int(problem.get("right") or 0), tries, _truth(greedy))
                found[int(level["level"]), str(problem["key"])] = count
    return found


def _truth(value: Any) -> bool | None:
    return None if value is None else bool(value)


def chosen(problems: Sequence[Problem], asked: Asked) -> list[Problem]:
    """Those that remain, in the order asked for."""
    words = asked.q.lower()
    kept = [
        problem
        for problem in problems
        if asked.kind in ("", problem.kind)
        and asked.level in (None, problem.level)
        and words in f"{problem.prompt}\n{problem.key}".lower()
    ]
    return sorted(kept, key=SORTS[asked.sort][1])
