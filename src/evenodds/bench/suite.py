"""Which cases a verifier or a task is tried with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, cast

import numpy as np

from evenodds.bench import (
    choice_cases,
    code_cases,
    expression_cases,
    instructions_cases,
    json_cases,
    math_cases,
    number_cases,
    regex_cases,
    sql_cases,
    text_cases,
)
from evenodds.bench.case import Case
from evenodds.domain import Problem
from evenodds.tasks import Task
from evenodds.verifiers import RegisteredVerifier

SUITES: dict[str, ModuleType] = {
    "choice": choice_cases,
    "code": code_cases,
    "expression": expression_cases,
    "instructions": instructions_cases,
    "json": json_cases,
    "math": math_cases,
    "number": number_cases,
    "regex": regex_cases,
    "sql": sql_cases,
    "text": text_cases,
}
"""Kind -> the module of its cases: `own_cases()` and `task_cases(problems, table)`."""

SLOW = ("hostile size", "hang")
"""Categories that a short bench leaves out."""


def own(kind: str) -> Iterator[Case]:
    """All cases that the bench has for a kind on golds of its own; none for an unknown kind."""
    make: Callable[[], Iterator[Case]] | None = getattr(SUITES.get(kind), "own_cases", None)
    return make() if make is not None else iter(())


def task_cases(verifier: RegisteredVerifier, problems: Sequence[Problem]) -> Iterator[Case]:
    """The traps of a kind around the golds of a task; none where the kind has no bench.

    A policy table in which the verifier differs from its default decides what counts as wrong.
    """
    kind, table = verifier.kind.name, verifier.table
    if kind == "composite":
        kind, table = _main_part(table)
    make: Callable[[Sequence[Problem], Mapping[str, object]], Iterator[Case]] | None
    make = getattr(SUITES.get(kind), "task_cases", None)
    return make(problems, table) if make is not None else iter(())


def _main_part(table: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """The kind and the policy table of the part that says whether a composite's answer is right.

    No kind where that part's gold stands in a column of its own.
    """
    parts = cast(Sequence[Mapping[str, Any]], table.get("parts") or ())
    main = next((part for part in parts if part.get("verifier")), {})
    return ("" if main.get("column") else main.get("verifier", "")), main.get("policy", {})


def drawn(task: Task, count: int) -> tuple[Problem, ...]:
    """Up to `count` different held-out problems of a task, from all levels; each time the same."""
    rng = np.random.default_rng([0, 7])
    share = -(-count // len(task.levels))
    found: dict[str, Problem] = {}
    for level in range(len(task.levels)):
        held = task.held_out(level)
        chosen = rng.permutation(len(held))[:share].tolist()
        found |= {held[at].key: held[at] for at in chosen}
    return tuple(found.values())[:count]


def quick(cases: Iterable[Case]) -> Iterator[Case]:
    """Without the categories whose texts are huge or never end."""
    return (case for case in cases if case.category not in SLOW)
