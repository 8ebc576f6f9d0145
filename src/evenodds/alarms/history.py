"""What alarms look at: the first rows of a run, its last ones, and those with an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import NOT_JUDGED, Status
from evenodds.statistics import informative_group_probability

Row = Mapping[str, Any]
"""One line of metrics.jsonl; any field may be missing. Clock fields are never looked at."""
Numbers = Mapping[str, float]
"""The finite numbers of a row by name, and those that follow from them; see `digest`."""
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
    skipped: why the last row has no update. broken: a number of the last row that is not finite.
    """

    facts: Facts = field(default_factory=Facts)
    first: tuple[Numbers, ...] = ()
    last: tuple[Numbers, ...] = ()
    evaluated: tuple[Numbers, ...] = ()
    seen: int = 0
    skipped: str = ""
    broken: str = ""

    def added(self, row: Row) -> History:
        """The history with one more row."""
        numbers = digest(row, self.facts)
        is_evaluated = "heldout/pass@1" in numbers
        return replace(
            self,
            first=(*self.first, numbers) if len(self.first) < FIRST else self.first,
            last=(*self.last, numbers)[-LAST:],
            evaluated=(*self.evaluated, numbers)[-EVALUATIONS:] if is_evaluated else self.evaluated,
            seen=self.seen + 1,
            skipped=str(row.get("skipped") or ""),
            broken=_broken(row),
        )

    def values(self, name: str, count: int = LAST, skip: int = 0) -> Values:
        """The last `count` values of a metric, oldest first, after leaving out the last `skip`.

        Rows without the metric are passed over, as those of steps without an update are.
        """
        found: list[float] = []
        for row in reversed(self.last):
            if len(found) == count + skip:
                break
            value = row.get(name)
            if value is not None:
                found.append(value)
        return np.array(found[skip:][::-1], np.float64)

    def began(self, name: str) -> float | None:
        """The median of a metric over the first rows that have it; None where none has."""
        found = [value for row in self.first if (value := row.get(name)) is not None]
        return median(found) if found else None

    def steps(self, count: int) -> tuple[Numbers, ...]:
        """The last `count` rows; empty where there are fewer."""
        return self.last[-count:] if len(self.last) >= count else ()


def answers(rows: Sequence[Numbers]) -> float:
    """About how many answers were sampled in these rows."""
    return sum(row.get("answers", 0.0) for row in rows)


LEVEL, RATE = "level/", "/solve_rate"
LARGEST = 1e100  # beyond it squares overflow; infinities and NaN are not within it either
LEFT_OUT = (LEVEL, "posterior/", "time/")
UNJUDGED = tuple(f"status/{status}" for status in Status if status in NOT_JUDGED)


def digest(row: Row, facts: Facts) -> Numbers:
    """The finite numbers of a row, worked out once, for a row is looked at many times.

    Besides those of the row: `answers`, as many as were sampled; `informative`, the share of mixed
    groups to be expected from the solve rates of its levels; `unjudged`, the share of answers that
    could not be judged; `entropy/answer`, nats an answer; `skipped`, 1 without an update.
    """
    found = {
        name: float(value)
        for name, value in row.items()
        if isinstance(value, int | float)
        and -LARGEST < value < LARGEST
        and not name.startswith(LEFT_OUT)
    }
    found["answers"] = found.get("groups/drawn", 0.0) * facts.group_size
    found["unjudged"] = sum(found.get(name, 0.0) for name in UNJUDGED)
    found["skipped"] = 1.0 if row.get("skipped") else 0.0
    expected = expected_informative(row, facts.group_size)
    if expected is not None:
        found["informative"] = expected
    if "entropy" in found and "completions/mean_length" in found:
        found["entropy/answer"] = found["entropy"] * found["completions/mean_length"]
    return found


def expected_informative(row: Row, size: int) -> float | None:
    """1 - p^G - (1-p)^G with the solve rates of a step's levels, weighed by their groups."""
    total = weight = 0.0
    for name in row:
        if name.startswith(LEVEL) and name.endswith(RATE):
            rate, groups = row[name], row.get(name.removesuffix(RATE) + "/groups", 0)
            if not isinstance(rate, int | float) or not isinstance(groups, int | float):
                continue
            if 0 <= rate <= 1 and 0 <= groups <= LARGEST:
                total += groups * informative_group_probability(rate, size)
                weight += groups
    return total / weight if weight > 0 else None


def _broken(row: Row) -> str:
    """The first number of the row that is not finite, in words; empty where all are.

    In metrics.jsonl such a number is null, for JSON has none. Where an update was skipped for one,
    the row says which.
    """
    if row.get("fault"):
        return " ".join(str(row["fault"]).split())[:240].rstrip(".")
    for name, value in row.items():
        is_broken = value is None or (isinstance(value, float) and not math.isfinite(value))
        if is_broken and not name.startswith("time/"):
            return f"{name} is not a finite number in this step"
    return ""


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

    noise: standard deviation around the line. spread: sum of squares of the steps around their
    middle, so that the standard error of the slope is noise / sqrt(spread).
    """

    slope: float
    at_end: float
    noise: float
    spread: float

    @property
    def sureness(self) -> float:
        """The slope over its standard error; infinite where the line fits exactly."""
        error = self.noise / math.sqrt(self.spread)
        return self.slope / error if error > 0 else math.copysign(math.inf, self.slope)

    def in_noise(self, noise: float) -> Trend:
        """The same line where values are known to scatter so much at least."""
        return replace(self, noise=max(self.noise, noise))


def trend(values: Values) -> Trend:
    """The line through at least three values, one a step."""
    count = values.size
    at = np.arange(count) - (count - 1) / 2
    spread = float(at @ at)
    slope = float(at @ values) / spread
    middle = float(values.mean())
    left = values - middle - slope * at
    noise = math.sqrt(float(left @ left) / (count - 2))
    return Trend(slope, middle + slope * float(at[-1]), noise, spread)
