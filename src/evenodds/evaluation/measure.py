"""Fresh answers of a policy to held-out problems, judged and counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenodds.domain import Group, Limits, Problem, Rollout, Status
from evenodds.evaluation.record import Evaluation, EvaluationSettings, LevelResult, ProblemResult
from evenodds.judge import Judge, begin
from evenodds.sampling import Sampler
from evenodds.tasks import Task


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


def _first_note(groups: Sequence[Group | None]) -> str:
    """What was said of the first answer that could not be judged, on one line."""
    verdicts = [verdict for group in groups if group for verdict in group.verdicts]
    unjudged = [verdict for verdict in verdicts if not verdict.is_judged]
    return " ".join((unjudged[0].note or str(unjudged[0].status)).split()) if unjudged else ""


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
    with begin(judge, problems) as judging:
        rollouts = sampler.sample(prompts, samples, limits, seed, judging.give)
        verdicts = judging.verdicts(rollouts)
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
    return Evaluation(policy, settings, tuple(levels), _first_note([*groups, *greedy]))
