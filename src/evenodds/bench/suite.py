"""Which cases a verifier or a task is tried with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType

import numpy as np

from evenodds.bench import number_cases, text_cases
from evenodds.bench.case import Case
from evenodds.domain import Problem
from evenodds.tasks import Task
from evenodds.verifiers import RegisteredVerifier

SUITES: dict[str, ModuleType] = {"number": number_cases, "text": text_cases}
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
    suite = SUITES.get(verifier.kind.name)
    make: Callable[[Sequence[Problem], Mapping[str, object]], Iterator[Case]] | None
    make = getattr(suite, "task_cases", None)
    return make(problems, verifier.table) if make is not None else iter(())


def drawn(task: Task, count: int, seed: int = 0) -> tuple[Problem, ...]:
    """Up to `count` different problems of a task, from all levels, the same for the same seed.

    Held-out problems are taken, for their number is known; generated ones make up what is missing.
    """
    rng = np.random.default_rng([seed, 7])
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
