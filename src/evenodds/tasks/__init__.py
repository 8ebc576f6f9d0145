"""Tasks: where problems come from. A task makes them by level and knows their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, cast

from evenodds.domain import Problem
from evenodds.errors import UsageError, unknown
from evenodds.own import FAILURES, described, quiet
from evenodds.tasks.arithmetic import Arithmetic, is_held_out
from evenodds.tasks.chains import CHAINED
from evenodds.tasks.check import check_gold
from evenodds.tasks.data import data_task, problems_task
from evenodds.tasks.operations import ADDITION, DIVISION, MODULAR, MULTIPLICATION, SUBTRACTION
from evenodds.tasks.reverse import Reverse
from evenodds.tasks.task import STYLES, Task, TaskOptions
from evenodds.verifiers.function import load_function

TASKS: dict[str, Callable[[TaskOptions], Task]] = {
    "multiplication": lambda options: Arithmetic(MULTIPLICATION, options),
    "addition": lambda options: Arithmetic(ADDITION, options),
    "subtraction": lambda options: Arithmetic(SUBTRACTION, options),
    "division": lambda options: Arithmetic(DIVISION, options),
    "modular": lambda options: Arithmetic(MODULAR, options),
    "chained": lambda options: Arithmetic(CHAINED, options),
    "reverse": Reverse,
    "data": data_task,
}


def make_task(name: str, options: TaskOptions | None = None, **changes: object) -> Task:
    """The task of that name. `changes` are fields of `TaskOptions`, such as style or seed.

    A name that ends in `.jsonl` or `.parquet` is the file of a `data` task; `file.py:function` or
    `module:function` names a function of one's own that returns a task, or pairs of a prompt and
    its answer. Raises `UsageError` for an unknown name, option or style, and for a file or a
    function that cannot be used.
    """
    known = [field.name for field in fields(TaskOptions)]
    for key in changes:
        if key not in known:
            raise unknown("task option", key, known)
    if name.endswith((".jsonl", ".parquet", ".csv")):
        name, changes = "data", {"data": name, **changes}
    options = replace(options or TaskOptions(), **cast(dict[str, Any], changes))
    if name in TASKS:
        return TASKS[name](options)
    if ":" in name:
        return _own_task(name, options)
    raise unknown("task", name, [*TASKS, "file.jsonl", "file.py:function"])


def _own_task(name: str, options: TaskOptions) -> Task:
    """The task that a person's function makes; called once, without arguments."""
    function = cast(Callable[[], object], load_function(name))
    try:
        with quiet():
            made = function()
            if hasattr(made, "generate") and hasattr(made, "held_out"):
                return cast(Task, made)
            problems = [*cast(Iterable[Problem | tuple[str, str]], made)]
        return problems_task(problems, options.verifier or "number", options=options)
    except UsageError:
        raise
    except FAILURES as error:  # a person's code may raise anything
        raise UsageError(
            f"the task {name} could not be made. Got {described(error)}. "
            "Return a task, or pairs of a prompt and its answer."
        ) from error


__all__ = [
    "STYLES",
    "TASKS",
    "Task",
    "TaskOptions",
    "check_gold",
    "is_held_out",
    "make_task",
    "problems_task",
]
