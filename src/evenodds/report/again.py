"""How a run is gone on with or made again: by a command, or by the call that made it."""

from __future__ import annotations

import shlex

OWN_TASK = "own"  # of runs from Python: `evenodds.train(problems, grade)`


def is_from_python(task: object) -> bool:
    """Whether a run with this `task.name` has problems that only its script knows."""
    return task == OWN_TASK


def go_on(task: object, folder: str, name: str) -> str:
    """What goes on with a run: a command for a shell, or words where no command can."""
    if is_from_python(task):
        return f"the same call from Python with run.name {name!r}"
    return f"evenodds train --resume {folder}"


def repeat(task: object, config: str, name: str) -> str:
    """A line for a shell that makes a run again; a comment where only its script can."""
    if is_from_python(task):
        return "# made from Python: the same call of evenodds.train again, with another run.name"
    return f"evenodds train {shlex.quote(config)} --name {shlex.quote(name)}-again"
