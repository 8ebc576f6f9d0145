"""Judges: one verdict for every rollout, in order. A failure is a verdict, never an exception."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from evenodds.domain import Completion, Problem, Rollout, Status, Verdict
from evenodds.own import FAILURES, described, quiet
from evenodds.verifiers.function import copied


class Judge(Protocol):
    """Whatever turns groups of rollouts into groups of verdicts of the same shape."""

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]: ...


@dataclass(frozen=True)
class InlineJudge:
    """Calls the verifier in this process. Fit for cheap verifiers that cannot hang.

    The verifier sees copies of the problems; what it prints goes to stderr.
    """

    verifier: Callable[[Problem, Completion], Verdict]

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]:
        with quiet():  # once for all of them: a call of the verifier is often as short
            return [
                self._group(copied(problem), group)
                for problem, group in zip(problems, rollouts, strict=True)
            ]

    def _group(self, problem: Problem, rollouts: Sequence[Rollout]) -> list[Verdict]:
        return [self._one(problem, rollout.completion) for rollout in rollouts]

    def _one(self, problem: Problem, completion: Completion) -> Verdict:
        try:
            return self.verifier(problem, completion)
        except FAILURES as error:  # a verifier must not raise; one that does must not end a run
            return Verdict(0.0, Status.ERROR, note=described(error))


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
