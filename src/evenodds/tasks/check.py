"""Whether a task's own right answers pass its own verifier, before a run is spent on it."""

from __future__ import annotations

import time
from typing import cast

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.errors import UsageError
from evenodds.own import FAILURES, described, quiet
from evenodds.tasks.prompting import as_text
from evenodds.tasks.task import Task
from evenodds.verifiers import KINDS, RegisteredVerifier

SHOWN = 60
SECONDS = 5.0
"""A slow verifier is not asked for further golds after this time: a run must start."""


def check_gold(task: Task, per_level: int = 3) -> None:
    """Judge the gold answers of the first `per_level` held-out problems of each level.

    A registered verifier must find each of them right. A person's own function may want more
    than the bare answer, so there only an answer that could not be judged at all, or whose score
    is outside [0, 1], is refused. Levels without held-out problems are skipped, and so is all that
    is left after `SECONDS`. Raises `UsageError` with the first bad one.
    """
    end = time.monotonic() + SECONDS
    is_registered = isinstance(task.verifier, RegisteredVerifier)
    for level, label in enumerate(task.levels):
        for problem in task.held_out(level)[:per_level]:
            if time.monotonic() > end:
                return
            gold, verdict = _judged(task, problem)
            passed = verdict.status is Status.RIGHT if is_registered else verdict.is_judged
            if not passed:
                raise _refused(task, label, problem, gold, verdict, is_registered)
            if not is_registered and not 0 <= verdict.score <= 1:
                raise UsageError(
                    f"the verifier {task.verifier_name!r} returned {verdict.score:g} for the gold "
                    f"answer {_short(gold)}; a score lies between 0 and 1, and 1 is right. "
                    "Mend the function."
                )


def _judged(task: Task, problem: Problem) -> tuple[str, Verdict]:
    """The gold answer and its verdict; whatever a task of one's own raises is a verdict too."""
    gold = problem.answer
    try:
        gold = task.solve(problem)
        with quiet():
            verdict = cast(object, task.verifier(problem, Completion(gold)))
    except FAILURES as error:  # a person's code may raise anything
        return gold, Verdict(0.0, Status.ERROR, note=described(error))
    if isinstance(verdict, Verdict):
        return gold, verdict
    what = f"the verifier returned a {type(verdict).__name__}, not a Verdict"
    return gold, Verdict(0.0, Status.ERROR, note=what)


def _refused(
    task: Task, label: str, problem: Problem, gold: str, verdict: Verdict, is_registered: bool
) -> UsageError:
    fits = "does not find right" if is_registered else "cannot judge"
    names = ", ".join(name for name in KINDS if name != task.verifier_name)
    advice = f"Choose another --verifier ({names}, or file.py:function)"
    return UsageError(
        f"the verifier {task.verifier_name!r} {fits} the gold answer {_short(gold)} of "
        f"{_short(as_text(problem.prompt))} at {label!r}. Got {verdict.status.value} "
        f"({_line(verdict.note)[:200] or 'no note'}). "
        f"{advice if is_registered else 'Mend the function'}, or mend the answer."
    )


def _short(text: object) -> str:
    line = _line(str(text))
    return repr(line if len(line) <= SHOWN else line[: SHOWN - 1] + "…")


def _line(text: str) -> str:
    return " ".join(text.split())
