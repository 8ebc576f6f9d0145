"""The self-check of every gold: the verifier finds it right, and a changed one not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from evenodds.bench.mutate import mutated
from evenodds.bench.report import FULL
from evenodds.bench.rounds import judged_pairs
from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.judge import JudgeOptions
from evenodds.tasks import Task
from evenodds.tasks.prompting import as_text
from evenodds.verifiers import RegisteredVerifier

GENERATED = 50
"""Training problems of a level that are checked, where they are generated and not listed."""
PLAIN = ("number", "math", "choice", "text")
"""Kinds whose gold is the bare answer, so that a changed gold is a wrong answer."""


@dataclass(frozen=True)
class BadGold:
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
    """golds: how many were judged. bad: those not found right. mutants: changed golds that were
    tried; paid: those of them that were paid.
    """

    golds: int
    bad: tuple[BadGold, ...]
    mutants: int
    paid: tuple[BadGold, ...]
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
    """Every problem of a data set; of generated tasks the held-out ones and some of each level."""
    listed: object = getattr(task, "problems", None)
    if isinstance(listed, tuple) and all(isinstance(problem, Problem) for problem in listed):
        return listed
    rng = np.random.default_rng(0)
    found: dict[str, Problem] = {}
    for level in range(len(task.levels)):
        drawn = [task.generate(level, rng) for _ in range(GENERATED)]
        found |= {problem.key: problem for problem in (*task.held_out(level), *drawn)}
    return tuple(found.values())


def check_all_golds(
    task: Task,
    options: JudgeOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
    form: str = "«R»",
) -> GoldReport:
    """Judge every gold of a task, and for kinds with a bare answer a changed one of each.

    form: a text with the gold at «R», for a person's own function that wants more than it bare.
    """
    begun = time.perf_counter()
    problems = all_problems(task)
    golds = [(problem, form.replace("«R»", task.solve(problem))) for problem in problems]
    rows = [*golds, *_mutants(task, problems)]
    pairs = ((problem, Completion(text)) for problem, text in rows)
    bad: list[BadGold] = []
    paid: list[BadGold] = []
    judged = judged_pairs(task.verifier, pairs, options or JudgeOptions())
    for at, ((problem, text), verdict) in enumerate(zip(rows, judged, strict=True)):
        if at < len(problems) and verdict.status is not Status.RIGHT:
            bad.append(BadGold(problem, text, verdict))
        if at >= len(problems) and verdict.score >= FULL:
            paid.append(BadGold(problem, text, verdict))
        if progress is not None:
            progress(at + 1, len(rows))
    seconds = time.perf_counter() - begun
    return GoldReport(len(problems), tuple(bad), len(rows) - len(problems), tuple(paid), seconds)


def _mutants(task: Task, problems: tuple[Problem, ...]) -> Iterator[tuple[Problem, str]]:
    verifier = task.verifier
    if not isinstance(verifier, RegisteredVerifier) or verifier.kind.name not in PLAIN:
        return
    if verifier.table:  # a tolerance or a lenient comparison may take the changed one for right
        return
    for problem in problems:
        changed = mutated(problem.answer)
        yield problem, changed[0]
