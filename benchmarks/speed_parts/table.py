"""From the turns of all contenders to medians, ratios round by round, and tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Turn = Mapping[str, Any]  # what a worker answered: seconds, phases, tokens, peak_gb
Turns = Mapping[str, Sequence[Turn]]  # contender -> its turns, round by round
OURS = "ours"
OUTSIDE = ("sample", "judge", "write")  # what is left of a step without these is learning


@dataclass(frozen=True)
class Spread:
    """The median of some values with the least and the greatest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(self.low)}–{number(self.high)})"


def number(value: float) -> str:
    """Three digits where they say something; thousands with a comma."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def sampling(turn: Turn) -> float:
    return float(turn["phases"]["sample"])


def learning(turn: Turn) -> float:
    """Seconds of a step that are no sampling, judging or writing; 0 where nothing is learned.

    For ours this holds the advantages, the learner's update and handing over the weights; for TRL
    all that its trainer does between two generations.
    """
    if not turn["learned"]:
        return 0.0
    return float(turn["seconds"]) - sum(turn["phases"].get(name, 0.0) for name in OUTSIDE)


def whole(turn: Turn) -> float:
    """Seconds of a step; 0 where nothing is learned, for then it is no step."""
    return float(turn["seconds"]) if turn["learned"] else 0.0


def ratios(theirs: Sequence[Turn], ours: Sequence[Turn], part: Callable[[Turn], float]) -> Spread:
    """How many times as long theirs takes as ours, each against ours of the same round."""
    return Spread.of([part(a) / part(b) for a, b in zip(theirs, ours, strict=True)])


def rate(turns: Sequence[Turn], part: Callable[[Turn], float]) -> float:
    """Answer tokens a second of a part of the step: the median over rounds."""
    return statistics.median(sum(turn["tokens"]) / part(turn) for turn in turns)


def peak(turns: Sequence[Turn]) -> float:
    """The most memory that its process held at any time, in GB, loading included."""
    return max(turn["peak_gb"] for turn in turns)


def summary(turns: Turns) -> dict[str, dict[str, Any]]:
    """contender -> medians and ratios, as they stand in the tables."""
    return {name: _summary(found, turns.get(OURS)) for name, found in turns.items()}


def _summary(turns: Sequence[Turn], ours: Sequence[Turn] | None) -> dict[str, Any]:
    parts = {"whole": whole, "sampling": sampling, "learning": learning}
    measured = {n: p for n, p in parts.items() if all(p(turn) > 0 for turn in turns)}
    names = {name for turn in turns for name in turn["phases"]}
    return {
        "seconds": {n: Spread.of([p(turn) for turn in turns]) for n, p in measured.items()},
        "phases": {
            n: statistics.median(turn["phases"].get(n, 0.0) for turn in turns) for n in names
        },
        "tokens_per_second": {n: rate(turns, p) for n, p in measured.items()},
        "peak_gb": peak(turns),
        "against_ours": {n: ratios(turns, ours, p) for n, p in measured.items()} if ours else {},
        "ours_memory_share": peak(ours) / peak(turns) if ours else None,
    }


PHASES = ("forward", "backward", "judge", "write", "load")


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Two tables in markdown: seconds and tokens, then ratios to ours."""
    head = ["", "s a step", "sampling", "learning", *PHASES]
    head += ["tok/s", "sampling tok/s", "learning tok/s", "peak GB"]
    rows = [_row(name, entry) for name, entry in found.items()]
    first = _markdown([head, *rows])
    others = {n: e for n, e in found.items() if n != OURS and e["against_ours"]}
    if not others:
        return first
    head = ["× ours", "whole step", "sampling", "learning", "peak memory of ours / theirs"]
    rows = [
        [n, *_cells(e["against_ours"]), _memory(e, "whole" in e["seconds"])]
        for n, e in others.items()
    ]
    return f"{first}\n\n{_markdown([head, *rows])}"


def _memory(entry: Mapping[str, Any], is_step: bool) -> str:
    return f"{entry['ours_memory_share']:.2f}" if is_step else ""


def _cells(values: Mapping[str, Any], show: Callable[[Any], str] = str) -> list[str]:
    return [show(values[n]) if n in values else "" for n in ("whole", "sampling", "learning")]


def _row(name: str, entry: Mapping[str, Any]) -> list[str]:
    phases = [number(entry["phases"][n]) if n in entry["phases"] else "" for n in PHASES]
    rates = _cells(entry["tokens_per_second"], number)
    return [name, *_cells(entry["seconds"]), *phases, *rates, f"{entry['peak_gb']:.2f}"]


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
