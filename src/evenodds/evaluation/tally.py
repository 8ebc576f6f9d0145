"""The record of an evaluation as arrays with an entry for each problem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Record = Mapping[str, Any]
"""An evaluation as `Evaluation.to_dict` makes it and a run folder keeps it, or a part of it."""
Values = NDArray[np.float64]
Votes = Sequence[Sequence[Any]]
"""Of one problem: the text of an answer, how often it was given, whether it is right."""


@dataclass(frozen=True)
class Tally:
    """An evaluation of some problems as arrays [problems]; NaN where nothing was measured.

    samples: answers drawn, judged or not, of which `tries` could be judged. The others are counts
    of `ProblemResult`. votes: [problems] what the judged answers say. entropy: nats a token.
    """

    tries: Values
    right: Values
    greedy: Values
    length: Values
    truncated: Values
    samples: Values
    ended: Values
    duplicates: Values
    strategies: Values
    audit_right: Values
    audit_tries: Values
    disagree: Values
    votes: tuple[Votes, ...] = ()
    entropy: float | None = None

    @property
    def rates(self) -> Values:
        return self.right / self.tries


COLUMNS = {  # of a problem in the record, by the name that they have here
    "greedy": "greedy_right",
    "length": "mean_length",
    **{name: name for name in ("truncated", "ended", "duplicates", "strategies")},
    **{name: name for name in ("audit_right", "audit_tries", "disagree")},
}


def levels_of(record: Record) -> dict[int, Record]:
    """The records of the levels by number, each with the `samples` that were drawn a problem."""
    samples = record.get("settings", {}).get("samples")
    levels: Sequence[Record] = record.get("levels", [])
    return {int(level["level"]): {"samples": samples, **level} for level in levels}


def label_of(number: int, level: Record) -> str:
    return str(level.get("label", f"level {number}"))


def judged_by_key(level: Record) -> dict[str, Record]:
    """The problems of a level with at least one judged answer, by key, in their order."""
    rows: Sequence[Record] = level.get("problems", [])
    return {str(row["key"]): row for row in rows if int(row.get("tries") or 0) > 0}


def names_of(record: Record) -> set[tuple[int, str]]:
    """Level and key of every problem of a record, judged or not."""
    levels = levels_of(record).items()
    return {(number, str(row["key"])) for number, one in levels for row in one.get("problems", [])}


def sources_of(record: Record) -> list[str]:
    """The sources that problems of the record come from, in their order; none where unknown."""
    rows = chain.from_iterable(level.get("problems", []) for level in levels_of(record).values())
    return [*dict.fromkeys(str(row.get("source") or "") for row in rows)]


def tally_of(level: Record, problems: Sequence[Record] | None = None) -> Tally:
    """The problems of a level of `levels_of`, or those among them that are given, as arrays."""
    rows: Sequence[Record] = level.get("problems", []) if problems is None else problems
    tries = np.nan_to_num(_column(rows, "tries"))
    samples = _number(level.get("samples"))
    return Tally(
        tries=tries,
        right=np.nan_to_num(_column(rows, "right")),
        # a record that does not say how many were drawn: as many as were judged
        samples=tries if samples is None else np.full(tries.shape, samples),
        votes=tuple(row.get("votes") or () for row in rows),
        entropy=_entropy(level, problems),
        **{name: _column(rows, column) for name, column in COLUMNS.items()},
    )


def _entropy(level: Record, problems: Sequence[Record] | None) -> float | None:
    """Of the level as a whole, or of some of its problems, each by its tokens."""
    whole = _number(level.get("entropy"))
    if problems is None:
        return whole
    known = [row for row in problems if _number(row.get("entropy")) is not None]
    tokens = np.nan_to_num(_column(known, "mean_length"))
    if not tokens.sum():
        return whole
    return float(np.average(_column(known, "entropy"), weights=tokens))


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
    names = [field.name for field in fields(Tally) if field.name not in ("votes", "entropy")]
    return Tally(
        **{name: joined(name) for name in names},
        votes=tuple(chain.from_iterable(tally.votes for tally in tallies)),
        entropy=float(np.average(known, weights=weights)) if sum(weights) else None,
    )


def per_sample(totals: Values, samples: Values) -> float | None:
    """A total over the answers that were drawn, of the problems where it is known."""
    known = ~np.isnan(totals) & (samples > 0)
    return float(totals[known].sum() / samples[known].sum()) if known.any() else None


def doubling(most: int) -> tuple[int, ...]:
    """1, 2, 4, … up to `most`, and `most` itself: the k of a pass@k curve."""
    return tuple(sorted({2**power for power in range(most.bit_length())} | {most}))


def finite(value: Any) -> Any:
    """The value with every number that JSON cannot hold replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(item) for item in value]
    return value
