"""The judge that runs in this process, the one that is scripted, and the face that all show.

A judge needs `judge` alone. One that has `begin` too is given each group as soon as it is finished,
and works while the rest is sampled.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from evenodds.domain import Completion, Problem, Rollout, Status, Verdict
from evenodds.judge.frames import Call
from evenodds.own import failure_of
from evenodds.undisturbed import end_child_of, undisturbed
from evenodds.verifiers.function import copied, group_of, name_of


class Judging(Protocol):
    """One time that a judge is asked, under way: a context manager.

    Leaving it before `verdicts` has returned, as Ctrl-C does, gives up what is still at work.
    """

    def give(self, index: int, rollouts: Sequence[Rollout]) -> None:
        """The answers to problem `index`, once; returns at once. A sampler calls it, or nobody."""
        ...

    def verdicts(self, rollouts: Sequence[Sequence[Rollout]]) -> list[list[Verdict]]:
        """Waits for all verdicts. rollouts: the answers to every problem, given or not."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Judge(Protocol):
    """Whatever turns groups of rollouts into groups of verdicts of the same shape."""

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]: ...


@runtime_checkable
class EarlyJudge(Judge, Protocol):
    """A judge that works beside the sampler."""

    def begin(self, problems: Sequence[Problem]) -> Judging: ...


def begin(judge: Judge, problems: Sequence[Problem]) -> Judging:
    """Start to judge answers to these problems: while they come where the judge can do that."""
    return judge.begin(problems) if isinstance(judge, EarlyJudge) else AtTheEnd(judge, problems)


class OpenJudge(Judge, Protocol):
    """A judge that may hold processes: a context manager that ends them."""

    def answered(self, calls: Sequence[Call]) -> list[list[Verdict]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


@dataclass(frozen=True)
class AtTheEnd:
    """Judging that waits for the last answer.

    For a judge in this process: it would only take the time from the sampler.
    """

    judge: Judge
    problems: Sequence[Problem]

    def give(self, index: int, rollouts: Sequence[Rollout]) -> None:
        """Nothing is done before the end."""

    def verdicts(self, rollouts: Sequence[Sequence[Rollout]]) -> list[list[Verdict]]:
        return self.judge.judge(self.problems, rollouts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class InlineJudge:
    """Calls the verifier in this process. Fit for cheap verifiers that cannot hang.

    The verifier sees copies of the problems; what it prints goes to stderr, and what it changes in
    the process is put back.
    """

    verifier: Callable[[Problem, Completion], Verdict]

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]:
        with_ids = group_of(self.verifier) is not None
        calls = [
            call_of(problem, group, with_ids)
            for problem, group in zip(problems, rollouts, strict=True)
        ]
        return self.answered(calls)

    def answered(self, calls: Sequence[Call]) -> list[list[Verdict]]:
        """The verdicts of each call, in order."""
        who = f"the verifier {name_of(self.verifier)}"
        with undisturbed(who):  # once for all of them: a call of the verifier is often as short
            return [
                judged(self.verifier, copied(call.problem), call.completions, call.ids)
                for call in calls
            ]

    def close(self) -> None:
        """Nothing is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def call_of(problem: Problem, group: Sequence[Rollout], with_ids: bool) -> Call:
    """The call that judges a whole group; token ids are for verifiers that take a group at once."""
    completions = [rollout.completion for rollout in group]
    return Call(problem, completions, [r.ids.tolist() for r in group] if with_ids else None)


def judged(
    verifier: Callable[[Problem, Completion], Verdict],
    problem: Problem,
    completions: Sequence[Completion],
    ids: Sequence[Sequence[int]] | None = None,
) -> list[Verdict]:
    """One verdict a completion, with its seconds; whatever the verifier raises is a verdict.

    A function that takes a whole group is called once; each of its verdicts has an equal share of
    the seconds.
    """
    group = group_of(verifier)
    if group is None:
        return [_one(verifier, problem, completion) for completion in completions]
    if not completions:
        return []
    started, owner = time.perf_counter(), os.getpid()
    verdicts = group(problem, completions, ids)
    end_child_of(owner)
    share = (time.perf_counter() - started) / len(completions)
    return [replace(verdict, seconds=share) for verdict in verdicts]


def _one(
    verifier: Callable[[Problem, Completion], Verdict], problem: Problem, completion: Completion
) -> Verdict:
    started, owner = time.perf_counter(), os.getpid()
    try:
        verdict = verifier(problem, completion)
    except BaseException as error:  # a verifier must not raise; one that does must not end a run
        verdict = Verdict(0.0, Status.ERROR, note=failure_of(error))
    end_child_of(owner)
    return replace(verdict, seconds=time.perf_counter() - started)


@dataclass(frozen=True)
class ScriptedJudge:
    """The public fake: pays what the script says, by problem key and position in the group.

    scores: for each problem key the scores of its rollouts; a shorter list starts again from its
    front. A key that is missing pays `default`. Verdicts may be given in place of scores.
    """

    scores: dict[str, Sequence[float | Verdict]]
    default: float = 0.0

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]:
        return [
            [self._one(problem.key, index) for index in range(len(group))]
            for problem, group in zip(problems, rollouts, strict=True)
        ]

    def _one(self, key: str, index: int) -> Verdict:
        script = self.scores.get(key) or (self.default,)
        entry = script[index % len(script)]
        if isinstance(entry, Verdict):
            return entry
        return Verdict(entry, Status.RIGHT if entry == 1.0 else Status.WRONG, note="scripted")
