"""A person's own task: a Python file with `problems`, and with `grade` where none of ours fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

from evenodds.domain import Problem
from evenodds.errors import UsageError, check_path
from evenodds.own import FAILURES, described, quiet
from evenodds.tasks.data import problems_task
from evenodds.tasks.task import Task, TaskOptions
from evenodds.tasks.values import digest_of
from evenodds.verifiers.function import load_function

PROBLEMS, GRADE = "problems", "grade"
HOW = "Return a task, or pairs of a prompt and its answer."


def own_file(path: str, options: TaskOptions) -> Task:
    """The task of a Python file.

    Its function `problems()` returns pairs of a prompt and its answer, problems, or a task. Its
    function `grade(problem, text)`, where it has one, is the verifier, unless another is named;
    without one the answers decide which of ours fits. Raises `UsageError` in one line.
    """
    if not Path(path).is_file():
        raise UsageError(f"the file {path} does not exist. {check_path(path)}")
    function = load_function(f"{path}:{PROBLEMS}")
    grade = getattr(function, "__globals__", {}).get(GRADE)
    verifier = options.verifier or (f"{path}:{GRADE}" if callable(grade) else None)
    return _made(path, function, verifier, options)


def own_function(name: str, options: TaskOptions) -> Task:
    """The task that `file.py:function` or `module:function` makes; called without arguments."""
    return _made(name, load_function(name), options.verifier, options)


def _made(name: str, function: object, verifier: str | None, options: TaskOptions) -> Task:
    """The task that a person's function makes; called once, without arguments."""
    try:
        with quiet():
            made = cast(Callable[[], object], function)()
            if hasattr(made, "generate") and hasattr(made, "held_out"):
                return cast(Task, made)
            problems = [*cast(Iterable[Problem | tuple[str, str]], made)]
        task = problems_task(problems, verifier, options=options, source=name)
        digest = digest_of(Path(name.rpartition(":")[0] or name))
        return replace(task, counts={**task.counts, "source_sha256": digest})
    except UsageError:
        raise
    except FAILURES as error:  # a person's code may raise anything
        raise UsageError(
            f"the task {name} could not be made. Got {described(error)}. {HOW}"
        ) from error
