"""The record of an evaluation in numbers: rates with intervals, by level and over all levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.statistics import Estimate, clustered_rate, pass_at_k_curve

Record = Mapping[str, Any]
"""An evaluation as `Evaluation.to_dict` makes it and a run folder keeps it, or a part of it."""
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """One policy on some problems.

    sampled: solve rate of sampled answers; greedy: share of problems solved by the likeliest
    answer, None where greedy decoding was not run. length: mean answer length in tokens.
    truncated: share of all sampled answers, judged or not, that the token budget cut.
    entropy: nats a token.
    """

    sampled: Estimate
    greedy: Estimate | None = None
    length: float | None = None
    truncated: float | None = None
    entropy: float | None = None


@dataclass(frozen=True)
class Measured:
    """One level, or all of them (`level` is None), in numbers with 95 % intervals.

    answers: sampled ones, of which `judged` could be judged. pass_at: unbiased pass@k by k; a k
    that no problem has enough judged answers for is missing.
    """

    level: int | None
    label: str
    problems: int
    answers: int
    judged: int
    side: Side
    pass_at: Mapping[int, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; what could not be measured is null."""
        side = asdict(self.side)
        found = {
            "level": self.level,
            "label": self.label,
            "problems": self.problems,
            "answers": self.answers,
            "judged": self.judged,
            "pass@1": side["sampled"],
            "pass@k": {k: asdict(estimate) for k, estimate in self.pass_at.items()},
            "greedy": side["greedy"],
            "mean_length": side["length"],
            "truncated": side["truncated"],
            "entropy": side["entropy"],
        }
        return finite(found)


@dataclass(frozen=True)
class Summary:
    """An evaluation in numbers. ks: the powers of two up to the number of samples, and that."""

    ks: tuple[int, ...]
    overall: Measured
    levels: tuple[Measured, ...]

    def to_dict(self) -> dict[str, Any]:
        levels = [level.to_dict() for level in self.levels]
        return {"overall": self.overall.to_dict(), "levels": levels}


@dataclass(frozen=True)
class Tally:
    """An evaluation of some problems as arrays [problems]; NaN where nothing was measured.

    samples: answers drawn, judged or not, of which `tries` could be judged.
    """

    tries: Values
    right: Values
    greedy: Values
    length: Values
    truncated: Values
    samples: Values
    entropy: float | None = None

    @property
    def rates(self) -> Values:
        return self.right / self.tries


def summary_of(record: Record) -> Summary:
    """The record of an evaluation in numbers: the one place where it becomes rates."""
    levels = levels_of(record)
    tallies = {number: tally_of(level) for number, level in levels.items()}
    whole = pooled([*tallies.values()])
    ks = doubling(int(max([1.0, *whole.samples])))
    rows = [
        _measured(number, label_of(number, level), tallies[number], ks)
        for number, level in levels.items()
    ]
    return Summary(ks, _measured(None, "all levels", whole, ks), tuple(rows))


def _measured(level: int | None, label: str, tally: Tally, ks: Sequence[int]) -> Measured:
    reached = [k for k in ks if (tally.tries >= k).any()]
    curve = pass_at_k_curve(tally.tries, tally.right, reached)
    return Measured(
        level=level,
        label=label,
        problems=int(tally.tries.size),
        answers=int(tally.samples.sum()),
        judged=int(tally.tries.sum()),
        side=side_of(tally),
        pass_at=dict(zip(reached, curve, strict=True)),
    )


def doubling(most: int) -> tuple[int, ...]:
    """1, 2, 4, … up to `most`, and `most` itself: the k of a pass@k curve."""
    return tuple(sorted({2**power for power in range(most.bit_length())} | {most}))


def levels_of(record: Record) -> dict[int, Record]:
    """The records of the levels by number, each with the `samples` that were drawn a problem."""
    samples = record.get("settings", {}).get("samples")
    levels: Sequence[Record] = record.get("levels", [])
    return {int(level["level"]): {"samples": samples, **level} for level in levels}


def label_of(number: int, level: Record) -> str:
    return str(level.get("label", f"level {number}"))


def tally_of(level: Record, problems: Sequence[Record] | None = None) -> Tally:
    """The problems of a level of `levels_of`, or those among them that are given, as arrays."""
    rows: Sequence[Record] = level.get("problems", []) if problems is None else problems
    tries = np.nan_to_num(_column(rows, "tries"))
    samples = _number(level.get("samples"))
    return Tally(
        tries=tries,
        right=np.nan_to_num(_column(rows, "right")),
        greedy=_column(rows, "greedy_right"),
        length=_column(rows, "mean_length"),
        truncated=_column(rows, "truncated"),
        # a record that does not say how many were drawn: as many as were judged
        samples=tries if samples is None else np.full(tries.shape, samples),
        entropy=_number(level.get("entropy")),
    )


def _column(problems: Sequence[Record], name: str) -> Values:
    found = [problem.get(name) for problem in problems]
    return np.array([math.nan if value is None else float(value) for value in found], np.float64)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def pooled(tallies: Sequence[Tally]) -> Tally:
    """All problems of all levels; every problem has the same weight."""

    def joined(name: str) -> Values:
        return np.concatenate([np.zeros(0), *(getattr(tally, name) for tally in tallies)])

    weights = [tally.tries.size for tally in tallies if tally.entropy is not None]
    known = [tally.entropy for tally in tallies if tally.entropy is not None]
    entropy = float(np.average(known, weights=weights)) if sum(weights) else None
    names = ("tries", "right", "greedy", "length", "truncated", "samples")
    return Tally(**{name: joined(name) for name in names}, entropy=entropy)


def side_of(tally: Tally, kept: NDArray[np.bool_] | None = None) -> Side:
    """Rates of a tally. kept: the problems whose greedy answer counts; all that have one."""
    known = ~np.isnan(tally.greedy) if kept is None else kept
    ones = np.ones(int(known.sum()))
    return Side(
        sampled=clustered_rate(tally.right, tally.tries),
        greedy=clustered_rate(tally.greedy[known], ones) if ones.size else None,
        length=_per_sample(tally.length * tally.samples, tally.samples),
        truncated=_per_sample(tally.truncated, tally.samples),
        entropy=tally.entropy,
    )


def _per_sample(totals: Values, samples: Values) -> float | None:
    """A total over the answers that were drawn, of the problems where it is known."""
    known = ~np.isnan(totals) & (samples > 0)
    return float(totals[known].sum() / samples[known].sum()) if known.any() else None


def finite(value: Any) -> Any:
    """The value with every number that JSON cannot hold replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(item) for item in value]
    return value
