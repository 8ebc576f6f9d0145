"""What alarms look at: the first rows of a run, its last ones, and those with an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = Mapping[str, Any]
"""One line of metrics.jsonl; any field may be missing. Clock fields are never looked at."""
Values = NDArray[np.float64]

FIRST = 10  # rows that say how a run began
LAST = 40  # rows that say how it goes
EVALUATIONS = 8  # rows with an evaluation on the way


@dataclass(frozen=True)
class Facts:
    """The settings of a run that give its metrics their meaning.

    group_size: answers to each problem. max_tokens: budget of one answer. max_grad_norm: to which
    gradients are clipped. passes: optimizer steps on each batch of answers.
    """

    group_size: int = 16
    max_tokens: int = 96
    max_grad_norm: float = 1.0
    passes: int = 1


@dataclass(frozen=True)
class History:
    """A window on the rows of a run, of a size that does not grow with the run.

    first: the first `FIRST` rows; last: the last `LAST`, the newest at the end; the two overlap in
    a short run. evaluated: the last rows that hold an evaluation. seen: rows that were added.
    """

    facts: Facts = field(default_factory=Facts)
    first: tuple[Row, ...] = ()
    last: tuple[Row, ...] = ()
    evaluated: tuple[Row, ...] = ()
    seen: int = 0

    def added(self, row: Row) -> History:
        """The history with one more row."""
        is_evaluated = number(row, "heldout/pass@1") is not None
        return replace(
            self,
            first=(*self.first, row) if len(self.first) < FIRST else self.first,
            last=(*self.last, row)[-LAST:],
            evaluated=(*self.evaluated, row)[-EVALUATIONS:] if is_evaluated else self.evaluated,
            seen=self.seen + 1,
        )

    def values(self, name: str, count: int = LAST, skip: int = 0) -> Values:
        """The last `count` values of a metric, oldest first, after leaving out the last `skip`.

        Rows without the metric are passed over, as those of steps without an update are.
        """
        found: list[float] = []
        for row in reversed(self.last):
            if len(found) == count + skip:
                break
            value = number(row, name)
            if value is not None:
                found.append(value)
        return np.array(found[skip:][::-1], np.float64)

    def began(self, name: str) -> float | None:
        """The median of a metric over the first rows that have it; None where none has."""
        found = [value for row in self.first if (value := number(row, name)) is not None]
        return median(found) if found else None

    def steps(self, count: int) -> tuple[Row, ...]:
        """The last `count` rows; empty where there are fewer."""
        return self.last[-count:] if len(self.last) >= count else ()

    def answers(self, rows: Sequence[Row]) -> float:
        """About how many answers were sampled in these rows."""
        return sum((number(row, "groups/drawn") or 0.0) for row in rows) * self.facts.group_size


def number(row: Row, name: str) -> float | None:
    """A finite number in a row; None for all else."""
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def median(values: Sequence[float] | Values) -> float:
    """The median of some numbers, of which there is at least one.

    Of so few as here this is ten times as fast as numpy's.
    """
    ordered = sorted(float(value) for value in values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


@dataclass(frozen=True)
class Trend:
    """A straight line through values by least squares. slope: a step; at_end: its last point.

    sureness: slope over its standard error; infinite where the line fits exactly.
    """

    slope: float
    at_end: float
    sureness: float


def trend(values: Values) -> Trend:
    """The line through at least three values, one a step."""
    count = values.size
    at = np.arange(count) - (count - 1) / 2
    spread = float(at @ at)
    slope = float(at @ values) / spread
    middle = float(values.mean())
    left = values - middle - slope * at
    error = math.sqrt(float(left @ left) / (count - 2) / spread)
    sureness = slope / error if error > 0 else math.copysign(math.inf, slope)
    return Trend(slope, middle + slope * float(at[-1]), sureness)
