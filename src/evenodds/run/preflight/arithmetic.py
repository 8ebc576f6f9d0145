"""What the numbers of a configuration come to together: batches, updates, cadence, intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenodds.credit import Credit, standardized, standardized_sample
from evenodds.report.text import counted
from evenodds.run.build import evaluation_budget
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.statistics import percent
from evenodds.statistics.checks import normal_quantile

FEW = 16  # answers of a step below which its gradient is mostly noise
CADENCE = 20  # steps between checkpoints by default: nobody asked for it in a shorter run
GAIN, LARGE = 0.05, 0.10  # a gain that a run should be able to show, and that it must
CHANGED = 0.04  # variance between problems of what training changes; see docs/doctor.md


def batch(groups: int, size: int, passes: int, budget: int) -> Finding:
    """groups: problems a step, of `size` answers each. budget: tokens of one answer."""
    answers = groups * size
    what = (
        f"{groups} × {size} = {answers:,} answers a step, at most {answers * budget:,} tokens, "
        f"{counted(passes, 'update')} on them"
    )
    if answers < FEW:
        why = "so few answers point into a direction that is mostly chance"
        change = f"--sampling.groups {math.ceil(2 * FEW / size)}"
        return Finding("batch", "warning", what, why, change)
    return Finding("batch", "fine", what)


def group_size(size: int, credit: Credit) -> Finding | None:
    if size > 3 or credit not in (standardized, standardized_sample):
        return None
    why = (
        "the standard deviation of so few rewards is hardly an estimate: with two, every group "
        "that differs gets +1 and -1, however small the difference is"
    )
    return Finding(
        "group_size",
        "warning",
        f"advantages are divided by the spread of {size} rewards",
        why,
        "--sampling.group_size 8, or --objective.credit centered",
    )


def warm_up(warm: int, steps: int, passes: int) -> Finding | None:
    """warm: updates until the full learning rate. steps: of the whole run."""
    updates = steps * passes
    if 2 * warm <= updates:
        return None
    share = f"{percent(min(1.0, updates / warm))} of the learning rate is reached"
    what = f"warm-up takes {warm:,} of {counted(updates, 'update')}"
    why = f"most of the run learns at a part of the rate; by its end {share}"
    return Finding("warm_up", "warning", what, why, f"--learner.warmup_steps {updates // 20}")


def saving(every: int, steps: int) -> Finding | None:
    if every <= steps or every == CADENCE:
        return None
    return Finding(
        "save_every",
        "warning",
        f"a checkpoint every {every:,} steps, in a run of {steps:,}",
        "there will be none before the end, so that a crash loses everything",
        f"--run.save_every {max(1, min(CADENCE, steps // 5))}",
    )


def evaluating(every: int | None, steps: int) -> Finding | None:
    if every is None or every < steps:
        return None
    return Finding(
        "evaluation_every",
        "warning",
        f"an evaluation every {every:,} steps, in a run of {steps:,}",
        "there will be none on the way; the last step has the final one in any case",
        f"--evaluation.every {max(1, steps // 4)}",
    )


def reach(problems: int, samples: int) -> float:
    """Half the 95 % interval of a gain over so many problems with so many answers to each.

    The variance of a problem's difference is twice that of a mean of `samples` answers at a solve
    rate of one half, p(1 - p) / samples, and how differently problems gain.
    """
    spread = 2 * 0.25 / samples + CHANGED
    return normal_quantile(0.95) * math.sqrt(spread / problems)


def held_out(problems: int, samples: int, there: int = 0, capped: bool = True) -> Finding:
    """problems: held-out ones that an evaluation asks, of all levels. there: that are held out.

    capped: whether `task.held_out` keeps a level from having more of them.
    """
    half = reach(problems, samples)
    what = (
        f"{counted(problems, 'held-out problem')} × {samples} answers show a gain to about "
        f"± {100 * half:.1f} points"
    )
    if half <= LARGE:
        return Finding("held_out", "fine", what)
    wanted = math.ceil(problems * (half / GAIN) ** 2)
    return Finding(
        "held_out",
        "warning",
        what,
        f"a smaller gain cannot be told from none; {100 * GAIN:g} points need about {wanted:,} "
        "problems",
        _for_more(problems, samples, there, capped),
    )


def _for_more(problems: int, samples: int, there: int, capped: bool) -> str:
    """What makes the interval narrower: problems that are there, others, or more answers."""
    enough = next((n for n in (16, 32) if n > samples and reach(problems, n) <= LARGE), None)
    answers = f", or --evaluation.samples {enough}" if enough else ""
    if there > problems:
        return f"a larger --evaluation.problems: there are {there:,}{answers}"
    if capped:
        return f"a larger --task.held_out, with --evaluation.problems{answers}"
    return f"more problems in the task: each level holds out a share of its own{answers}"


def asked(held: Sequence[int], most: int) -> int:
    """Problems that an evaluation asks. held: those that there are at each level."""
    return sum(min(most, there) for there in held)


def cut_evaluation(sampled: int, evaluated: int) -> Finding | None:
    """sampled, evaluated: tokens that an answer may have in training and in an evaluation."""
    if evaluated >= sampled:
        return None
    return Finding(
        "evaluation_budget",
        "warning",
        f"an answer may have {sampled:,} tokens in training and {evaluated:,} in an evaluation",
        "what is learned with the longer budget is cut where it is measured, and looks like a loss",
        f"--evaluation.max_tokens {sampled}",
    )


def evaluated_levels(trained: Sequence[int] | None, asked: Sequence[int] | None) -> Finding | None:
    """trained, asked: levels of training and of evaluations; None: all."""
    if trained is None or asked is None or {*trained} & {*asked}:
        return None
    levels = [", ".join(map(str, sorted({*rows}))) for rows in (trained, asked)]
    return Finding(
        "evaluation_levels",
        "warning",
        f"training is on level {levels[0]}, and evaluations ask level {levels[1]} alone",
        "what is learned is not measured, and the report can say no more than that nothing changed",
        f"--evaluation.levels {','.join(map(str, sorted({*trained, *asked})))}",
    )


def look_at_evaluated_levels(ground: Ground) -> Finding | None:
    config = ground.plan.config
    return evaluated_levels(config.curriculum.levels, config.evaluation.levels)


def look_at_batch(ground: Ground) -> Finding:
    sampling, learner = ground.plan.config.sampling, ground.plan.config.learner
    return batch(sampling.groups, sampling.group_size, learner.passes, sampling.max_tokens)


def look_at_group_size(ground: Ground) -> Finding | None:
    return group_size(ground.plan.config.sampling.group_size, ground.objective.credit)


def look_at_warm_up(ground: Ground) -> Finding | None:
    learner, steps = ground.plan.config.learner, ground.plan.config.run.steps
    return None if steps is None else warm_up(learner.warmup_steps, steps, learner.passes)


def look_at_saving(ground: Ground) -> Finding | None:
    run = ground.plan.config.run
    return None if run.steps is None else saving(run.save_every, run.steps)


def look_at_evaluating(ground: Ground) -> Finding | None:
    config = ground.plan.config
    steps = config.run.steps
    return None if steps is None else evaluating(config.evaluation.every, steps)


def look_at_held_out(ground: Ground) -> Finding:
    task, section = ground.plan.task, ground.plan.config.evaluation
    levels = section.levels or range(len(task.levels))
    there = [len(task.held_out(level)) for level in levels]
    capped = max(there, default=0) >= ground.plan.config.task.held_out
    return held_out(asked(there, section.problems), section.samples, sum(there), capped)


def look_at_evaluation_budget(ground: Ground) -> Finding | None:
    config = ground.plan.config
    return cut_evaluation(config.sampling.max_tokens, evaluation_budget(config))
