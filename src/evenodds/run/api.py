"""A run from Python: problems and a judge in, a trained policy with its evidence out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from evenodds.domain import Problem
from evenodds.report.again import OWN_TASK
from evenodds.report.terminal import View
from evenodds.run.config import make_config, merge
from evenodds.run.train import Result
from evenodds.run.train import train as run
from evenodds.tasks import Task, TaskOptions, problems_task
from evenodds.verifiers import OwnFunction, Verifier


def train(
    problems: Task | Iterable[Problem | tuple[str, str]],
    verifier: str | Verifier | OwnFunction = "number",
    settings: Mapping[str, Any] | None = None,
    *,
    view: View | None = None,
) -> Result:
    """Train on problems of your own, and measure before and after on those that are held out.

    problems: a task, or prompts with their answers; a tenth of these is held out.
    verifier: a name, or a function (problem, text) -> score, True or False.
    settings: what `evenodds train --help` lists, by dotted name: {"policy.name": "./model"}.
    Raises `UsageError` for what cannot be used, before anything is written.
    """
    given = dict(settings or {})
    held_out = int(given.get("task.held_out", 100))
    task: Any = problems
    if not hasattr(problems, "generate"):
        rows: Any = problems
        task = problems_task(rows, verifier, options=TaskOptions(held_out=held_out))
    defaults = {"task.name": OWN_TASK}
    if len(task.levels) == 1:
        defaults["curriculum.kind"] = "uniform"
    return run(make_config(merge({}, defaults | given)), task=task, view=view, argv=sys.argv)
