"""All that a check may look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenodds.domain import Group, Problem, Rollout, Verdict
from evenodds.run.build import Plan
from evenodds.run.folder import RunFolder
from evenodds.run.preflight.answers import Sampled, base_answers, probed_answers
from evenodds.tasks.check import right_of
from evenodds.verifiers import RegisteredVerifier

if TYPE_CHECKING:
    from evenodds.objectives import Objective
    from evenodds.run.making import Engine
    from evenodds.run.preflight.trial import Corners, Trial
    from evenodds.tasks import Task


@dataclass(frozen=True)
class Timed:
    """Seconds of the parts of a step on `Probe.batch`.

    learn: a pass forward and backward over all answers, as if every group were mixed.
    """

    sample: float
    judge: float
    learn: float


@dataclass(frozen=True)
class Probe:
    """Fresh answers to training problems, drawn as training draws them and judged.

    groups: one a problem, over the levels in turn. seconds: that sampling and judging took.
    batch: problems as the first step has them, with groups of full size; timed, what that took.
    note: why there is less of it than wanted; empty where there is not.
    """

    groups: tuple[Group, ...]
    seconds: float
    batch: tuple[Group, ...] = ()
    timed: Timed | None = None
    note: str = ""

    @cached_property
    def rollouts(self) -> list[Rollout]:
        return [rollout for group in self.groups for rollout in group.rollouts]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        return [verdict for group in self.groups for verdict in group.verdicts]

    @property
    def tokens(self) -> int:
        return sum(rollout.ids.size for rollout in self.rollouts)


@dataclass(frozen=True)
class Ground:
    """What is about to run. folder: where it would be written; nothing is yet.

    base: the record of the evaluation of the base, which is there in `train` after it was made.
    probe: answers that `doctor` draws; in `train` there are none. A check that needs one of the
    two returns None where it has neither.
    """

    plan: Plan
    objective: Objective
    made: Engine
    folder: RunFolder
    base: Mapping[str, Any] | None = None
    probe: Probe | None = None

    @cached_property
    def trial(self) -> Trial:
        """A few short answers that several checks look at."""
        from evenodds.run.preflight.trial import draw_trial

        return draw_trial(self.plan, self.made.sampler)

    @cached_property
    def corners(self) -> Corners:
        """Two of them, with their log-probabilities by the model itself and by the learner."""
        from evenodds.run.preflight.trial import corners_of

        return corners_of(self.made.policy, self.trial)

    @cached_property
    def sampled(self) -> Sampled | None:
        """The answers of the probe as numbers, else those of the base's evaluation, else None."""
        if self.probe is not None:
            return probed_answers(self.probe, self.plan.config.sampling.max_tokens)
        if self.base is None:
            return None
        return base_answers(self.base, self.folder.answers("base"))


def trained_levels(plan: Plan) -> Sequence[int]:
    """Levels whose problems may be trained on."""
    return plan.config.curriculum.levels or range(len(plan.task.levels))


def asked_levels(plan: Plan) -> list[int]:
    """Levels whose problems are trained on or evaluated."""
    evaluated = plan.config.evaluation.levels or range(len(plan.task.levels))
    return sorted({*trained_levels(plan), *evaluated})


def right_answers(plan: Plan, most: int) -> list[tuple[Problem, str]]:
    """Problems of all levels with a right answer each, as the task writes it. Of what a person's
    own function takes for right, none is known."""
    task, levels = plan.task, asked_levels(plan)
    if not isinstance(task.verifier, RegisteredVerifier):
        return []
    rows = [(problem, right_of(task, problem)) for problem in some_held_out(task, levels, most)]
    return [(problem, right) for problem, right in rows if right is not None]


def some_held_out(task: Task, levels: Sequence[int], most: int) -> list[Problem]:
    """Held-out problems of all these levels, `most` of them at most."""
    each = max(1, most // len(levels))
    problems = [problem for level in levels for problem in task.held_out(level)[:each]]
    return problems[:: max(1, -(-len(problems) // most))]
