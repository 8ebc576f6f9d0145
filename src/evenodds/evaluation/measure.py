"""Fresh answers of a policy to held-out problems, judged and counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from evenodds.domain import Group, Limits, Problem, evaluation_seed
from evenodds.evaluation.counting import entropy_of, first_note, result_of
from evenodds.evaluation.record import (
    Answered,
    Canaries,
    Evaluation,
    EvaluationSettings,
    LevelResult,
)
from evenodds.judge import Judge, begin
from evenodds.judge.audit import is_right
from evenodds.sampling import Sampler
from evenodds.tasks import Task

TASK, CONTROL, CANARIES = range(3)  # the parts of an evaluation, each with seeds of its own
FLOOR = "the policy solves none of it, so that it can show a gain here, but no loss"


@dataclass(frozen=True)
class Control:
    """A task outside of what is learned, whose solve rate training should leave as it is."""

    task: Task
    judge: Judge
    settings: EvaluationSettings


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
    policy: str,
    sampler: Sampler,
    judge: Judge,
    task: Task,
    settings: EvaluationSettings,
    *,
    audit: Judge | None = None,
    control: Control | None = None,
    control_note: str = "",
    canaries: Sequence[Problem] = (),
    phase: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Sampled, and greedy if asked, answers to the first held-out problems of every level.

    audit: a second judge of the same sampled answers. control: another task, measured in the same
    way; control_note: why there is none. canaries: problems without a right answer. phase: told
    what is asked for next, in a word or two.
    """
    found = _measured(policy, sampler, judge, task, settings, audit, TASK, phase)
    if canaries:
        phase("canaries")
        answered = _canaries(canaries, sampler, judge, settings)
        found = replace(
            found, canaries=_counted(answered.groups), answers=(*found.answers, answered)
        )
    if control is None:
        return replace(found, control_note=control_note)
    beside = _measured(
        policy,
        sampler,
        control.judge,
        control.task,
        control.settings,
        None,
        CONTROL,
        lambda _: phase(f"control task {control.task.name}"),
    )
    solved = any(problem.right for level in beside.levels for problem in level.problems)
    return replace(
        found,
        control=beside,
        control_note="" if solved else FLOOR,
        answers=(*found.answers, *(replace(one, of="control") for one in beside.answers)),
    )


def _measured(
    policy: str,
    sampler: Sampler,
    judge: Judge,
    task: Task,
    settings: EvaluationSettings,
    audit: Judge | None,
    part: int,
    phase: Callable[[str], None],
) -> Evaluation:
    """One task: the record with all of its answers."""
    phase("sampled")
    wanted = settings.levels or range(len(task.levels))
    chosen = {level: task.held_out(level)[: settings.problems] for level in wanted}
    problems = [problem for held_out in chosen.values() for problem in held_out]
    limits, seed = settings.limits, evaluation_seed(settings.seed, part)
    groups = answer_all(problems, sampler, judge, settings.samples, limits, seed)
    said = None if audit is None else audit.judge(problems, [group.rollouts for group in groups])
    answers = [Answered("task", "sampled", groups, said)]
    if settings.greedy:
        phase("greedy")
        single = replace(limits, temperature=0.0)
        greedy = answer_all(problems, sampler, judge, 1, single, seed)
        answers.append(Answered("task", "greedy", greedy))
    return Evaluation(
        policy,
        settings,
        tuple(_levels(task, chosen, answers)),
        first_note([group for answered in answers for group in answered.groups]),
        task.name,
        task.verifier_name,
        answers=tuple(answers),
    )


def _levels(
    task: Task, chosen: Mapping[int, Sequence[Problem]], answers: Sequence[Answered]
) -> list[LevelResult]:
    """The answers to all problems, one level after another, as what was found at each level."""
    sampled, *likeliest = answers
    nothing = [None] * len(sampled.groups)
    greedy: Sequence[Group | None] = likeliest[0].groups if likeliest else nothing
    audit = nothing if sampled.audit is None else sampled.audit
    levels: list[LevelResult] = []
    at = 0
    for number, held_out in chosen.items():
        here = slice(at, at + len(held_out))
        at += len(held_out)
        if not held_out:
            continue
        rows = zip(sampled.groups[here], greedy[here], audit[here], strict=True)
        results = tuple(result_of(*row) for row in rows)
        drawn = [rollout for group in sampled.groups[here] for rollout in group.rollouts]
        levels.append(LevelResult(number, task.levels[number], results, entropy_of(drawn)))
    return levels


def _canaries(
    canaries: Sequence[Problem], sampler: Sampler, judge: Judge, settings: EvaluationSettings
) -> Answered:
    seed = evaluation_seed(settings.seed, CANARIES)
    groups = answer_all(canaries, sampler, judge, settings.samples, settings.limits, seed)
    return Answered("canaries", "sampled", groups)


def _counted(groups: Sequence[Group]) -> Canaries:
    """Canaries that a verifier calls right; what it cannot judge was not asked."""
    pairs = [pair for group in groups for pair in zip(group.rollouts, group.verdicts, strict=True)]
    paid = [rollout.text for rollout, verdict in pairs if is_right(verdict)]
    asked = sum(verdict.is_judged for _, verdict in pairs)
    return Canaries(asked, len(paid), paid[0] if paid else "")
