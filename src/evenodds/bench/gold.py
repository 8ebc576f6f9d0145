"""The self-check of every gold: the verifier finds it right, and a changed one not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenodds.bench.report import FULL
from evenodds.bench.rounds import Told, judged_pairs
from evenodds.domain import Completion, Problem, Status, Verdict, as_text
from evenodds.judge import JudgeOptions
from evenodds.tasks import Task
from evenodds.tasks.check import right_of, wrong_of
from evenodds.tasks.data import DataTask
from evenodds.verifiers import RegisteredVerifier

GENERATED = 50
"""Training problems of a level that are checked, where they are generated and not listed."""


@dataclass(frozen=True)
class Misjudged:
    """A gold that its verifier does not find right, or whose changed twin it pays."""

    problem: Problem
    answer: str
    verdict: Verdict

    def to_dict(self) -> dict[str, object]:
        return {
            "key": self.problem.key,
            "prompt": as_text(self.problem.prompt)[:400],
            "gold": self.problem.answer[:400],
            "answer": self.answer[:400],
            "status": str(self.verdict.status),
            "score": self.verdict.score,
            "how": self.verdict.note,
        }


@dataclass(frozen=True)
class GoldReport:
    """golds: how many were judged. bad: those not found right. mutants: problems to which wrong
    answers were made from the gold; paid: those of which every one was paid.
    """

    golds: int
    bad: tuple[Misjudged, ...]
    mutants: int
    paid: tuple[Misjudged, ...]
    seconds: float

    def to_dict(self) -> dict[str, object]:
        return {
            "golds": self.golds,
            "not_right": [bad.to_dict() for bad in self.bad],
            "mutants": self.mutants,
            "mutants_paid": [bad.to_dict() for bad in self.paid],
            "seconds": self.seconds,
        }


def all_problems(task: Task) -> tuple[Problem, ...]:
    """Every problem of given data; of generated tasks the held-out ones and some of each level."""
    if isinstance(task, DataTask):
        return (*task.problems, *(task.kept or ()))
    rng = np.random.default_rng(0)
    found: dict[str, Problem] = {}
    for level in range(len(task.levels)):
        drawn = [task.generate(level, rng) for _ in range(GENERATED)]
        found |= {problem.key: problem for problem in (*task.held_out(level), *drawn)}
    return tuple(found.values())


def check_all_golds(
    task: Task,
    options: JudgeOptions | None = None,
    progress: Told | None = None,
    form: str = "«R»",
) -> GoldReport:
    """Judge a right answer to every problem of a task, and wrong ones made from it.

    Where no right answer follows from a gold, as from a list of rules, it must at least be read.
    form: a text with the gold at «R», for a person's own function that wants more than it bare.
    """
    begun = time.perf_counter()
    rows = [row for problem in all_problems(task) for row in _rows(task, problem, form)]
    pairs = ((row.problem, Completion(row.text)) for row in rows)
    found: list[tuple[_Row, Verdict]] = []
    for row, verdict in zip(rows, judged_pairs(task.verifier, pairs, options), strict=True):
        found.append((row, verdict))
        if progress is not None:
            progress(len(found), len(rows))
    bad = tuple(Misjudged(*row[:2], verdict) for row, verdict in found if _is_bad(row, verdict))
    golds = sum(row.is_right is not False for row in rows)
    paid, changed = _paid(found)
    return GoldReport(golds, bad, changed, paid, time.perf_counter() - begun)


class _Row(NamedTuple):
    """One answer to judge; is_right: True, False for a changed one, None where it is not known."""

    problem: Problem
    text: str
    is_right: bool | None


def _rows(task: Task, problem: Problem, form: str) -> Iterator[_Row]:
    verifier = task.verifier
    if not isinstance(verifier, RegisteredVerifier):
        yield _Row(problem, form.replace("«R»", task.solve(problem)), True)
        return
    right = right_of(task, problem)
    yield _Row(problem, right or "", None if right is None else True)
    # a tolerance or a lenient comparison may take a changed answer for the right one
    if not verifier.table:
        yield from (_Row(problem, text, False) for text in wrong_of(task, problem, right or ""))


def _is_bad(row: _Row, verdict: Verdict) -> bool:
    if row.is_right is None:
        return not verdict.is_judged
    return row.is_right and verdict.status is not Status.RIGHT


def _paid(found: Sequence[tuple[_Row, Verdict]]) -> tuple[tuple[Misjudged, ...], int]:
    """Problems all of whose changed answers are paid, and how many problems have such answers.

    Now and then one changed answer says the same in other words, as 0/6 does for 0/5.
    """
    by_key: dict[str, list[tuple[_Row, Verdict]]] = {}
    for row, verdict in found:
        if row.is_right is False:
            by_key.setdefault(row.problem.key, []).append((row, verdict))
    paid = [rows[0] for rows in by_key.values() if all(v.score >= FULL for _, v in rows)]
    return tuple(Misjudged(*row[:2], verdict) for row, verdict in paid), len(by_key)
