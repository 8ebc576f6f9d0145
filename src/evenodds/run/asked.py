"""A sum of the problems that a task asks, by which a later sitting knows them again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from evenodds.domain import PLAIN, Problem
from evenodds.tasks import Task
from evenodds.tasks.data import DataTask

DRAWN = 8  # problems of each level
SECONDS = 1.0  # for these; of a slower task it is one of each
SEED = 8  # of no step and of no evaluation


def problems_sum(task: Task) -> dict[str, object]:
    """The sum for a passport, with how many problems of each level were drawn for it.

    The held-out problems are in it, the first that are drawn of each level under a fixed seed, and
    of problems that were given from Python every one. None in its place where the same numbers give
    other problems the next time.
    """
    began = time.monotonic()
    _drawn(task, 1)
    count = DRAWN if time.monotonic() - began < SECONDS / DRAWN else 1
    first = _drawn(task, count)
    is_same = first == _drawn(task, count)
    return {"sha256": _sum(_kept(task), first) if is_same else None, "drawn": count}


def is_another(known: Mapping[str, Any], task: Task) -> bool:
    """Whether the task asks other problems than when this sum was made of it."""
    found, drawn = known.get("sha256"), known.get("drawn")
    return (
        isinstance(found, str)
        and isinstance(drawn, int)
        and found != _sum(_kept(task), _drawn(task, drawn))
    )


def is_same_twice(task: Task, level: int) -> bool:
    """Whether the same numbers give the same problems of a level."""
    return _of_level(task, level, DRAWN) == _of_level(task, level, DRAWN)


def _sum(*parts: list[bytes]) -> str:
    found = hashlib.sha256()
    for text in chain.from_iterable(parts):
        found.update(text)
    return found.hexdigest()


def _kept(task: Task) -> list[bytes]:
    """What is held out, and what was given from Python; a file has a sum of its own."""
    given: Sequence[Problem] = ()
    if isinstance(task, DataTask) and task.options.data is None:
        given = (*task.problems, *(task.kept or ()))
    held = [problem for level in range(len(task.levels)) for problem in task.held_out(level)]
    return [*map(_text, given), *map(_text, held)]


def _drawn(task: Task, count: int) -> list[bytes]:
    return [text for level in range(len(task.levels)) for text in _of_level(task, level, count)]


def _of_level(task: Task, level: int, count: int) -> list[bytes]:
    rng = np.random.default_rng([SEED, level])
    return [_text(task.generate(level, rng)) for _ in range(count)]


def _text(problem: Problem) -> bytes:
    """All that is asked and paid for, but for columns that are no plain values."""
    columns = {str(name): v for name, v in problem.columns.items() if isinstance(v, PLAIN)}
    asked = (problem.key, problem.prompt, problem.answer, problem.level, sorted(columns.items()))
    return repr(asked).encode("utf-8", "surrogatepass")
