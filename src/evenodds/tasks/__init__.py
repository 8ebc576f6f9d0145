"""Tasks: where problems come from. A task makes them by level and knows their answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any, cast

from evenodds.errors import unknown
from evenodds.tasks.arithmetic import Arithmetic, is_held_out
from evenodds.tasks.chains import CHAINED
from evenodds.tasks.check import check_gold
from evenodds.tasks.countdown import Countdown
from evenodds.tasks.data import problems_task
from evenodds.tasks.files import file_task
from evenodds.tasks.gym import gym_task, is_gym
from evenodds.tasks.hub import is_hub
from evenodds.tasks.instructions import instruction_task
from evenodds.tasks.json_extraction import extraction_task
from evenodds.tasks.operations import ADDITION, DIVISION, MODULAR, MULTIPLICATION, SUBTRACTION
from evenodds.tasks.own_file import own_file, own_function
from evenodds.tasks.presets import PRESETS
from evenodds.tasks.reverse import Reverse
from evenodds.tasks.rows import ENDINGS
from evenodds.tasks.task import STYLES, Task, TaskOptions

LADDERS = (MULTIPLICATION, ADDITION, SUBTRACTION, DIVISION, MODULAR, CHAINED)
TASKS: dict[str, Callable[[TaskOptions], Task]] = {
    **{operation.name: partial(Arithmetic, operation) for operation in LADDERS},
    "countdown": Countdown,
    "reverse": Reverse,
    "instructions": instruction_task,
    "json-extraction": extraction_task,
    **{name: partial(file_task, preset=preset) for name, preset in PRESETS.items()},
}


def is_file(name: str) -> bool:
    """Whether a task's name is a file or data set of data, and not the task's own name."""
    return is_hub(name) or name.endswith((*ENDINGS, ".csv"))


def make_task(name: str, options: TaskOptions | None = None, **changes: object) -> Task:
    """The task of that name. `changes` are fields of `TaskOptions`, such as style or seed.

    A name that ends in `.jsonl`, `.json` or `.parquet`, or begins with `hf:`, is the data of a
    `data` task; `gym:NAME` is a task of reasoning-gym, and `file.py` one's own: see `own_file`.
    `file.py:function` or `module:function` names a function that returns a task, or pairs of a
    prompt and its answer.
    Raises `UsageError` for an unknown name, option or style, and for what cannot be used.
    """
    known = [field.name for field in fields(TaskOptions)]
    for key in changes:
        if key not in known:
            raise unknown("task option", key, known)
    if is_file(name):
        name, changes = "data", {"data": name, **changes}
    options = replace(options or TaskOptions(), **cast(dict[str, Any], changes))
    if name in TASKS:
        return TASKS[name](options)
    if is_gym(name):
        return gym_task(name, options)
    if name.endswith(".py"):
        return own_file(name, options)
    if ":" in name:
        return own_function(name, options)
    raise unknown("task", name, [*TASKS, "gym:NAME", "file.jsonl", "file.py", "file.py:function"])


__all__ = [
    "PRESETS",
    "STYLES",
    "TASKS",
    "Task",
    "TaskOptions",
    "check_gold",
    "is_file",
    "is_held_out",
    "make_task",
    "problems_task",
]
