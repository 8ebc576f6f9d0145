"""A policy on held-out problems: fresh generation, counted by problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evenodds.domain import Group, Limits, Problem, Rollout, Status
from evenodds.judge import Judge
from evenodds.sampling import Sampler
from evenodds.tasks import Task


@dataclass(frozen=True)
class EvaluationSettings:
    """samples: answers a problem. problems: held-out problems a level. limits: of one answer.
    levels: those that are measured; None is all.

    Equal settings give equal problems and seeds, whatever the policy.
    """

    limits: Limits
    samples: int = 8
    problems: int = 40
    levels: tuple[int, ...] | None = None
    greedy: bool = True
    seed: int = 1234


@dataclass(frozen=True)
class ProblemResult:
    """tries: answers that could be judged, of which `right` were right; lengths in tokens."""

    key: str
    tries: int
    right: int
    greedy_right: bool | None
    truncated: int
    no_answer: int
    mean_length: float


@dataclass(frozen=True)
class LevelResult:
    """entropy: nats a token, estimated as the mean of -log p over the sampled tokens."""

    level: int
    label: str
    problems: tuple[ProblemResult, ...]
    entropy: float


@dataclass(frozen=True)
class Evaluation:
    """What a policy could do, problem by problem."""

    policy: str
    settings: EvaluationSettings
    levels: tuple[LevelResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; the limits are spread into the settings."""
        settings = asdict(self.settings)
        limits = settings.pop("limits")
        levels = [asdict(level) for level in self.levels]
        return {"policy": self.policy, "settings": settings | limits, "levels": levels}


def _result(group: Group, greedy: Group | None) -> ProblemResult:
    lengths = [rollout.ids.size for rollout in group.rollouts]
    statuses = [verdict.status for verdict in group.verdicts]
    judged = greedy is not None and greedy.verdicts[0].is_judged
    return ProblemResult(
        key=group.problem.key,
        tries=int(group.judged.sum()),
        right=group.right,
        greedy_right=greedy.right == 1 if greedy is not None and judged else None,
        truncated=sum(rollout.is_truncated for rollout in group.rollouts),
        no_answer=statuses.count(Status.NO_ANSWER),
        mean_length=float(np.mean(lengths)),
    )


def _entropy(rollouts: Sequence[Rollout]) -> float:
    drawn = np.concatenate([rollout.logprobs for rollout in rollouts])
    return float(-drawn.mean()) if drawn.size else 0.0


def answer_all(
    problems: Sequence[Problem],
    sampler: Sampler,
    judge: Judge,
    samples: int,
    limits: Limits,
    seed: int,
) -> list[Group]:
    """Judged answers to each problem: sampling without learning."""
    prompts = [problem.prompt for problem in problems]
    rollouts = sampler.sample(prompts, samples, limits, seed)
    verdicts = judge.judge(list(problems), rollouts)
    return [Group(*row) for row in zip(problems, rollouts, verdicts, strict=True)]


def evaluate(
    policy: str, sampler: Sampler, judge: Judge, task: Task, settings: EvaluationSettings
) -> Evaluation:
    """Sampled, and greedy if asked, answers to the first held-out problems of every level."""
    wanted = settings.levels or range(len(task.levels))
    chosen = {level: task.held_out(level)[: settings.problems] for level in wanted}
    problems = [problem for held_out in chosen.values() for problem in held_out]
    limits = settings.limits
    groups = answer_all(problems, sampler, judge, settings.samples, limits, settings.seed)
    greedy: list[Group | None] = [None] * len(groups)
    if settings.greedy:
        single = Limits(limits.max_tokens, 0.0, limits.stop_strings)
        greedy = [*answer_all(problems, sampler, judge, 1, single, settings.seed)]
    levels: list[LevelResult] = []
    at = 0
    for number, held_out in chosen.items():
        here = slice(at, at + len(held_out))
        at += len(held_out)
        if not held_out:
            continue
        results = [_result(*pair) for pair in zip(groups[here], greedy[here], strict=True)]
        drawn = [rollout for group in groups[here] for rollout in group.rollouts]
        label = task.levels[number]
        levels.append(LevelResult(number, label, tuple(results), _entropy(drawn)))
    return Evaluation(policy, settings, tuple(levels))
