"""Whether a task can be trusted, before a run is spent on it: golds, wrong answers, the split."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from evenodds.domain import Completion, Problem, Status, Verdict, as_text
from evenodds.errors import UsageError
from evenodds.own import FAILURES, described, quiet
from evenodds.tasks.choose import fitting
from evenodds.tasks.data import DataTask, without
from evenodds.tasks.mutate import right_answer, wrong_answers
from evenodds.tasks.task import Task
from evenodds.tasks.values import short
from evenodds.verifiers import KINDS, RegisteredVerifier, Verifier

SECONDS = 5.0
"""After this time no further answer is judged, unless more is asked for: a run must start."""
PER_LEVEL = 3
"""A person's own function is asked so often at each level: it may be slow, or cost money."""
DRAWS = 20
"""Training problems of each level that are looked up among the held-out ones."""

Pair = tuple[Problem, Completion]
JudgeRows = Callable[[Verifier, Iterable[Pair]], Iterable[Verdict]]


@dataclass(frozen=True)
class Checked:
    """What was found. task: the task without the problems that were left out.

    golds, wrong: how many right and wrong answers were judged; unreadable: golds that were left out
    for that; unsolved: those of which it is only known that the verifier reads them, for no right
    answer follows from them; unchecked: those for which there was no time.
    """

    task: Task
    golds: int = 0
    wrong: int = 0
    unreadable: int = 0
    unsolved: int = 0
    unchecked: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        parts = [f"{self.golds:,} golds found right, {self.wrong:,} wrong answers not paid"]
        if self.unsolved:
            parts.append(f"{self.unsolved:,} golds read, of which no right answer is known")
        if self.unreadable:
            parts.append(f"{self.unreadable:,} unreadable golds left out")
        if self.unchecked:
            parts.append(f"{self.unchecked:,} not checked for lack of time")
        return f"{'; '.join(parts)} ({self.seconds:.2f} s)"


def inline(verifier: Verifier, pairs: Iterable[Pair]) -> Iterator[Verdict]:
    """Verdicts in this process, in order; whatever a person's code raises is a verdict too."""
    for problem, completion in pairs:
        try:
            with quiet():
                verdict = cast(object, verifier(problem, completion))
        except FAILURES as error:  # a person's code may raise anything
            verdict = Verdict(0.0, Status.ERROR, note=described(error))
        if not isinstance(verdict, Verdict):
            what = f"the verifier returned a {type(verdict).__name__}, not a Verdict"
            verdict = Verdict(0.0, Status.ERROR, note=what)
        yield verdict


def check_gold(
    task: Task,
    per_level: int | None = None,
    judge_rows: JudgeRows = inline,
    seconds: float | None = None,
) -> Checked:
    """Judge the right answer of every problem that is known, and wrong ones made from it.

    A registered verifier must find each gold right and not pay what is wrong. A person's own
    function may want more than the bare answer, so there only an answer that could not be judged
    at all, or whose score is outside [0, 1], is refused. Of given data all rows are judged, of
    other tasks the held-out problems.

    per_level: at most so many problems of a level. judge_rows: judges pairs of a problem and a
    completion, in order, such as `evenodds.judge.judge_rows`: for kinds that must not run in this
    process. seconds: after these no further gold is judged, and no further wrong answer after as
    many more. Raises `UsageError` with the first bad one, or where a training problem is held out
    too; golds that cannot be read are left out where the options say so.
    """
    began = time.monotonic()
    patience = SECONDS if seconds is None else seconds
    require_apart(task)
    rows = _known(task, per_level)  # which may be slow to make, and is not counted
    found = _golds(task, rows, judge_rows, time.monotonic() + patience)
    if isinstance(task.verifier, RegisteredVerifier):
        rows = [row for row in rows[: found.golds + found.unreadable + found.unsolved] if row[1]]
        wrong = _wrong(task, rows, judge_rows, time.monotonic() + patience)
        found = replace(found, wrong=wrong)
    return replace(found, seconds=time.monotonic() - began)


def _known(task: Task, per_level: int | None) -> list[tuple[Problem, str | None]]:
    """The problems to judge, level by level, each with a right answer where one is known."""
    if per_level is None and not isinstance(task.verifier, RegisteredVerifier):
        per_level = PER_LEVEL
    given = (*task.problems, *(task.kept or ())) if isinstance(task, DataTask) else None
    found: list[tuple[Problem, str | None]] = []
    for level in range(len(task.levels)):
        rows = task.held_out(level) if given is None else [p for p in given if p.level == level]
        found += [(problem, right_of(task, problem)) for problem in rows[:per_level]]
    return found


def right_of(task: Task, problem: Problem) -> str | None:
    """A right answer to a problem; None where none follows from its gold."""
    try:
        right = task.solve(problem)
    except FAILURES:  # a person's code may raise anything; the verifier then says what it thinks
        return problem.answer
    kind = task.verifier.kind.name if isinstance(task.verifier, RegisteredVerifier) else ""
    return right_answer(kind, right) if right == problem.answer else right


def _golds(
    task: Task, rows: Sequence[tuple[Problem, str | None]], judge_rows: JudgeRows, end: float
) -> Checked:
    """Every gold judged, until the time is over; refused at the first that is not right."""
    pairs = ((problem, Completion(right or "")) for problem, right in rows)
    unreadable: list[tuple[Problem, str | None, Verdict]] = []
    counts = {True: 0, False: 0}
    verdicts = judge_rows(task.verifier, pairs)
    for (problem, right), verdict in zip(rows, verdicts, strict=False):
        if verdict.status is Status.GOLD_UNREADABLE:
            unreadable.append((problem, right, verdict))
        else:
            _require(task, problem, right, verdict)
            counts[right is not None] += 1
        if time.monotonic() > end and not _drops(task):
            break
    judged = counts[True] + counts[False] + len(unreadable)
    if unreadable and not _drops(task):
        raise _refused(task, *unreadable[0], len(unreadable), judged)
    left = _without(task, [problem for problem, _, _ in unreadable])
    unchecked = len(rows) - judged
    return Checked(left, counts[True], 0, len(unreadable), counts[False], unchecked)


def _drops(task: Task) -> bool:
    return isinstance(task, DataTask) and task.options.drop_unreadable


def _without(task: Task, bad: Sequence[Problem]) -> Task:
    if not bad or not isinstance(task, DataTask):
        return task
    return without(task, set(bad).__contains__, "gold unreadable")


def _require(task: Task, problem: Problem, right: str | None, verdict: Verdict) -> None:
    """Raise `UsageError` for a verdict on a right answer that says anything else."""
    is_registered = isinstance(task.verifier, RegisteredVerifier)
    must_be_right = is_registered and right is not None
    # without a known right answer, wrong is what an empty one should be
    passed = verdict.status is Status.RIGHT if must_be_right else verdict.is_judged
    if not passed:
        raise _refused(task, problem, right, verdict)
    if not is_registered and not 0 <= verdict.score <= 1:
        raise UsageError(
            f"the verifier {task.verifier_name!r} returned {verdict.score:g} for the gold "
            f"answer {short(right)}; a score lies between 0 and 1, and 1 is right. "
            "Mend the function."
        )


def _wrong(
    task: Task, rows: Sequence[tuple[Problem, str | None]], judge_rows: JudgeRows, end: float
) -> int:
    """How many wrong answers were judged; refused where all those to one problem are paid."""
    table = [(problem, wrong_of(task, problem, right or "")) for problem, right in rows]
    flat = [(problem, said) for problem, answers in table for said in answers]
    verdicts = judge_rows(task.verifier, ((problem, Completion(said)) for problem, said in flat))
    unpaid: dict[str, list[bool]] = {}
    judged, last = 0, dict[str, tuple[Problem, str]]()
    for (problem, said), verdict in zip(flat, verdicts, strict=False):
        unpaid.setdefault(problem.key, []).append(verdict.status is not Status.RIGHT)
        last[problem.key] = (problem, said)
        judged += 1
        if time.monotonic() > end:
            break
    wanted = {problem.key: len(answers) for problem, answers in table}
    for key, results in unpaid.items():
        if not any(results) and len(results) == wanted[key]:
            raise _paid(task, *last[key])
    return judged


def wrong_of(task: Task, problem: Problem, right: str) -> tuple[str, ...]:
    """Wrong answers: the task's own where it makes them, else by the kind of its verifier.

    right: a right answer. The verifier is a registered one.
    """
    own = getattr(task, "wrong", None)
    if callable(own):
        return tuple(cast(Iterable[str], own(problem)))
    return wrong_answers(cast(RegisteredVerifier, task.verifier).kind.name, problem, right)


def _option(task: Task) -> str:
    """The flag that names the verifier in question; an audit has another one."""
    return getattr(task, "verifier_flag", "--verifier")


def _paid(task: Task, problem: Problem, said: str) -> UsageError:
    return UsageError(
        f"the verifier {task.verifier_name!r} pays the wrong answer {short(said)} to "
        f"{short(as_text(problem.prompt))}, whose gold is {short(problem.answer)}. "
        f"Choose another {_option(task)}, or change its policy."
    )


def require_apart(task: Task) -> None:
    """Raise `UsageError` where a problem to learn from is held out too.

    Of given data every prompt is looked up; of other tasks some problems of each level are drawn.
    """
    held = {p.key for level in range(len(task.levels)) for p in task.held_out(level)}
    rng = np.random.default_rng(0)
    for level in range(len(task.levels)):
        for problem in _training(task, level, rng):
            if problem.key in held:
                raise UsageError(
                    f"the task {task.name!r} asks a held-out problem in training. Got "
                    f"{short(as_text(problem.prompt))} at {task.levels[level]!r}. "
                    "Mend its generate: it must pass over what held_out returns."
                )


def _training(task: Task, level: int, rng: np.random.Generator) -> Iterable[Problem]:
    if isinstance(task, DataTask):
        return task.training(level)
    try:
        with quiet():
            return [task.generate(level, rng) for _ in range(DRAWS)]
    except FAILURES as error:  # a person's code may raise anything
        raise UsageError(
            f"the task {task.name!r} made no problem at {task.levels[level]!r}. "
            f"Got {described(error)}. Mend its generate."
        ) from error


def _refused(
    task: Task,
    problem: Problem,
    right: str | None,
    verdict: Verdict,
    count: int = 1,
    judged: int = 0,
) -> UsageError:
    is_registered = isinstance(task.verifier, RegisteredVerifier)
    fits = "does not find right" if is_registered else "cannot judge"
    names = [name for name in KINDS if name != task.verifier_name]
    if isinstance(task, DataTask):
        fits_best = fitting(p.answer for p in task.problems)[0]
        names.sort(key=lambda name: name != fits_best)
    mend = f"Choose another {_option(task)} ({', '.join(names)}, or file.py:function)"
    if verdict.status is Status.TIMEOUT:
        mend = "Raise --judge.seconds"
    more = f"; {count} of {judged} golds are unreadable" if count > 1 else ""
    is_data = isinstance(task, DataTask) and verdict.status is Status.GOLD_UNREADABLE
    drop = ", or leave such rows out: task.drop_unreadable = true" if is_data else ""
    return UsageError(
        f"the verifier {task.verifier_name!r} {fits} the gold answer "
        f"{short(problem.answer if right is None else right)} of "
        f"{short(as_text(problem.prompt))} at {task.levels[problem.level]!r}. Got "
        f"{verdict.status.value} ({' '.join(verdict.note.split())[:200] or 'no note'}){more}. "
        f"{mend if is_registered else 'Mend the function'}, or mend the answer{drop}."
    )
