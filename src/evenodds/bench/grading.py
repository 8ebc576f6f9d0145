"""Grading a file: rows of answers and golds in, the same rows with verdicts out, one at a time."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenodds.bench.answers import Columns, answer_of, golds_of, prompt_of, stop_of
from evenodds.bench.rounds import Pair, judged_pairs
from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.judge import JudgeOptions
from evenodds.verifiers import RegisteredVerifier, Verifier

ADDED = ("score", "status", "extracted", "how", "seconds")
"""The columns of a verdict. A row's own columns of these names are kept under `NAME_before`."""
TAIL = 200  # characters of the prompt that a verifier may see

Row = Mapping[str, Any]
Numbered = tuple[int, Row]


@dataclass
class Tally:
    """What the summary says. changed: rows whose own `status` was another before."""

    statuses: Counter[str] = field(default_factory=Counter[str])
    score: float = 0.0
    rows: int = 0
    changed: int = 0
    compared: int = 0
    slowest: tuple[float, int] = (0.0, 0)
    moved: set[str] = field(default_factory=set[str])

    def note(self, number: int, row: Row, verdict: Verdict) -> None:
        self.rows += 1
        self.statuses[str(verdict.status)] += 1
        self.score += verdict.score
        self.slowest = max(self.slowest, (verdict.seconds, number))
        self.moved |= row.keys() & set(ADDED)
        before = row.get("status")
        if before in tuple(Status):
            self.compared += 1
            self.changed += before != str(verdict.status)


def graded(
    verifier: Verifier,
    rows: Iterable[Numbered],
    columns: Columns,
    tally: Tally,
    options: JudgeOptions | None = None,
) -> Iterator[dict[str, Any]]:
    """Each row with its verdict, in order; only one round of rows is in memory.

    A row with several golds is judged by each of them, and the best verdict counts.
    """
    pending: deque[tuple[int, Row, int]] = deque()

    def pairs() -> Iterator[Pair]:
        for number, row in rows:
            asked = pairs_of(verifier, number, row, columns)
            pending.append((number, row, len(asked)))
            yield from asked

    found: list[Verdict] = []
    for verdict in judged_pairs(verifier, pairs(), options):
        found.append(verdict)
        number, row, count = pending[0]
        if len(found) == count:
            pending.popleft()
            best, found = best_of(found), []
            tally.note(number, row, best)
            yield with_verdict(row, best)


def pairs_of(verifier: Verifier, number: int, row: Row, columns: Columns) -> list[Pair]:
    """What the verifier is asked about a row: one pair for each of its golds."""
    is_registered = isinstance(verifier, RegisteredVerifier)
    kind = verifier.kind.name if isinstance(verifier, RegisteredVerifier) else None
    prompt = prompt_of(row, columns)
    tail = prompt[-TAIL:] if isinstance(prompt, str) else ""
    completion = Completion(answer_of(row, columns), stop_of(row, columns), tail)
    others: Row = {} if is_registered else row
    return [
        (Problem(f"row {number}", prompt, gold, "grade", columns=others), completion)
        for gold in golds_of(row, columns, kind)
    ]


def best_of(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict with the highest score; of equal ones, one that was judged."""
    return max(verdicts, key=lambda verdict: (verdict.score, verdict.is_judged))


def with_verdict(row: Row, verdict: Verdict) -> dict[str, Any]:
    """The row with the columns of `ADDED`; its own of these names become `NAME_before`."""
    kept = {_free(row, name) if name in ADDED else name: value for name, value in row.items()}
    return kept | {
        "score": verdict.score,
        "status": str(verdict.status),
        "extracted": verdict.extracted,
        "how": verdict.note,
        "seconds": round(verdict.seconds, 6),
    }


def _free(row: Row, name: str) -> str:
    """`score_before`, or the next such name that the row does not have."""
    name += "_before"
    while name in row:
        name += "_before"
    return name


def as_line(row: Mapping[str, Any]) -> str:
    """A row as a line of strict JSON in ASCII: any text survives, NaN and infinities become null.

    What JSON has no form for, such as a date of a parquet file, is written as its text.
    """
    try:
        return json.dumps(row, allow_nan=False, default=_text)
    except ValueError:  # NaN; or a circle, which data that was read cannot have
        known = json.loads(json.dumps(row, default=_text), parse_constant=lambda _: None)
        return json.dumps(known)


def _text(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else str(value)
