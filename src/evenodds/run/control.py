"""The control task of a run: what should stay as it is while something else is learned."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenodds.domain import Problem, as_text
from evenodds.errors import UsageError
from evenodds.judge import JudgeOptions, open_judge
from evenodds.run.config import Config
from evenodds.tasks import Task, TaskOptions, is_file, make_task
from evenodds.tasks.outside import OUTSIDE
from evenodds.tasks.task import MAX_HELD_OUT

if TYPE_CHECKING:
    from evenodds.evaluation import Control, EvaluationSettings
    from evenodds.policies import Policy

SAMPLES = 4  # answers to a problem at most: the number of problems decides how sure a rate is
DRAWN = 1000  # training problems that are drawn to see whether the control asks them too
NONE_NAMED = "none was measured: evaluation.control is none"
NONE_KNOWN = (
    "none was measured: no task is known to lie outside of this one. Name one by evaluation.control"
)


@dataclass(frozen=True)
class Beside:
    """The control task, if any. note: why there is none. is_auto: nobody named it."""

    task: Task | None = None
    note: str = NONE_NAMED
    is_auto: bool = False


def control_of(config: Config, task: Task, style: str) -> Beside:
    """The control that the configuration names, or the one that suits the task. style: of prompts.

    Raises `UsageError` for one that cannot be made, or that asks what is trained.
    """
    name = config.evaluation.control
    is_auto = name == "auto"
    if is_auto:
        name = OUTSIDE.get(task.name, "none")
    if name == "none":
        return Beside(note=NONE_KNOWN if is_auto else NONE_NAMED)
    is_own = is_file(name) or ".py" in name
    options = TaskOptions(
        style="bare" if is_own and config.task.style == "auto" else style,
        shots=config.task.shots,
        held_out=min(config.evaluation.control_problems, MAX_HELD_OUT),
    )
    try:
        control = make_task(name, options)
    except UsageError as error:
        raise UsageError(
            f"evaluation.control cannot be {name[:80]!r}: {error} The settings in [task] are not "
            "those of a control: it is a task that needs none, or a file with prompt and answer."
        ) from error
    _require_outside(control, task, name)
    return Beside(control, "", is_auto)


def held_out_of(task: Task) -> list[Problem]:
    """All held-out problems of a task, level after level."""
    return [problem for level in range(len(task.levels)) for problem in task.held_out(level)]


def _require_outside(control: Task, task: Task, name: str) -> None:
    """Raise `UsageError` where a control problem is one that training may ask."""
    asked = {as_text(problem.prompt) for problem in held_out_of(control)}
    shared = asked & _trained(task)
    if control.name == task.name and not is_file(name):
        raise UsageError(
            f"evaluation.control is what is learned. Got {name!r}. Name a task outside of it."
        )
    if shared:
        raise UsageError(
            f"evaluation.control asks what is trained. Got {len(shared)} prompts of {name!r} that "
            "training asks too. Name a task outside of it."
        )


def _trained(task: Task) -> set[str]:
    """Prompts of training: all that were given, or a thousand of those that are drawn."""
    given: Sequence[Problem] = getattr(task, "problems", ())
    levels = len(task.levels)
    rng = np.random.default_rng(0)
    drawn = [task.generate(at % levels, rng) for at in range(0 if given else DRAWN)]
    return {as_text(problem.prompt) for problem in (*given, *drawn)}


def readable(beside: Beside, policy: Policy, budget: int) -> Beside:
    """The control itself where the policy can read it. budget: tokens of an answer.

    One that nobody named is left out where it cannot, with a note.
    """
    if beside.task is None:
        return beside
    codec = policy.codec
    problems = held_out_of(beside.task)
    try:
        for problem in problems[:: max(1, len(problems) // 200)]:
            codec.require_readable(codec.render(problem.prompt))
        longest = max(codec.encode(problem.prompt).size for problem in problems)
        if policy.context is not None and longest + budget > policy.context:
            raise UsageError(
                f"a prompt of evaluation.control is too long. Got {longest} tokens, and answers "
                f"of {budget}, where {policy.context} are read. Name another, or none."
            )
    except UsageError as error:
        if not beside.is_auto:
            raise
        why = " ".join(str(error).split())
        return Beside(note=f"none was measured: {beside.task.name} cannot be asked. {why}")
    return beside


def control_settings(config: Config, task: Task, own: EvaluationSettings) -> EvaluationSettings:
    """What is drawn of the control task, given what is drawn of the task itself."""
    return replace(
        own,
        limits=replace(own.limits, stop_strings=task.stop_strings),
        samples=min(own.samples, SAMPLES),
        problems=min(config.evaluation.control_problems, own.problems),
        levels=None,
        greedy=False,
    )


@contextmanager
def opened_control(
    config: Config, beside: Beside, own: EvaluationSettings, options: JudgeOptions
) -> Generator[Control | None]:
    """The control as `evaluate` takes it, with a judge of its own for as long as this is open."""
    if beside.task is None:
        yield None
        return
    from evenodds.evaluation import Control

    with open_judge(beside.task.verifier, options) as judge:
        yield Control(beside.task, judge, control_settings(config, beside.task, own))
