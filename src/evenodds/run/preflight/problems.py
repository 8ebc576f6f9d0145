"""Whether the problems are what a run needs: enough of them, each with one answer, judged in time.

What makes a task unusable is refused when it is made: a prompt with two golds in given data, a
problem that is held out and trained on. Here is what is legal and yet mostly a slip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from evenodds.domain import Problem, as_text
from evenodds.judge.opening import runs_inline
from evenodds.report.text import counted, duration, one_line
from evenodds.run.build import judge_options
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.tasks import Task
from evenodds.tasks.values import short

FEW = 8  # problems of a level
OFTEN = 100  # times that each problem is asked
DRAWS, LEVELS = 32, 8  # problems that are drawn of each of so many levels
PATIENCE = 3600.0  # seconds that a step may take where no answer is judged in time


def levels(training: Mapping[str, int]) -> Finding | None:
    """training: problems to learn from, by the label of their level."""
    small = {label: count for label, count in training.items() if count < FEW}
    if not small:
        return None
    shown = ", ".join(f"{one_line(label, 30)}: {count}" for label, count in [*small.items()][:4])
    few = counted(len(small), "level")
    return Finding(
        "levels",
        "warning",
        f"{few} of {len(training)} with fewer than {FEW} problems to learn from ({shown})",
        "a step draws the same few again and again, and what it says of the level is chance",
        "coarser levels in --task.level, or --curriculum.levels without these",
    )


def repeats(problems: int, groups: int, steps: int) -> Finding | None:
    """problems: to learn from. groups: problems a step."""
    times = groups * steps / max(1, problems)
    if times <= OFTEN:
        return None
    return Finding(
        "repeats",
        "warning",
        f"{counted(problems, 'problem')} for {groups * steps:,} groups: each is asked {times:,.0f} "
        "times",
        "answers are then learned by heart, and the gain on held-out problems ends early",
        f"--run.steps {max(1, OFTEN * problems // (2 * groups))}, or more data",
    )


def drawn(problems: Sequence[Problem]) -> Finding | None:
    """problems: drawn at random, as training draws them, of a task that makes its own."""
    golds: dict[str, set[str]] = {}
    for problem in problems:
        golds.setdefault(as_text(problem.prompt), set()).add(problem.answer)
    against = [text for text, found in golds.items() if len(found) > 1]
    if against:
        first, second = sorted(golds[against[0]])[:2]
        return Finding(
            "problems",
            "fatal",
            f"the prompt {short(against[0])} has the gold {short(first)} and {short(second)}",
            "the same answer is paid once and not the next time: nothing can be learned from it",
            "generate of the task: what decides the answer must stand in the prompt",
        )
    if len(golds) >= min(FEW, len(problems)):
        return None
    return Finding(
        "problems",
        "warning",
        f"{len(problems)} problems were drawn, and only {len(golds)} of them are different",
        "these few answers will be learned by heart",
        "generate of the task: use the rng that it is given",
    )


def deadline(inline: bool, workers: int, seconds: float, answers: int) -> Finding | None:
    """inline: whether the verifier needs no deadline. answers: of a step."""
    if inline:
        return None
    if workers == 0:
        return Finding(
            "deadline",
            "warning",
            "the verifier runs in this process, without a deadline",
            "one answer that it does not come back from stops the run for good",
            "--judge.workers 2",
        )
    worst = answers * seconds / workers
    if worst <= PATIENCE:
        return None
    return Finding(
        "deadline",
        "warning",
        f"a step whose {answers:,} answers all hang takes {duration(worst)}: {seconds:g} s each, "
        f"{counted(workers, 'worker')}",
        "policies do learn to write what a verifier hangs on",
        f"--judge.seconds {max(1, int(PATIENCE * workers / answers / 2))}, or more --judge.workers",
    )


def training_counts(task: Task) -> dict[str, int]:
    """Problems to learn from by level, where the task knows how many it has."""
    rows = cast("list[dict[str, Any]]", task.passport().get("levels") or [])
    counts = [row.get("training") for row in rows]
    pairs = zip(task.levels, counts, strict=False)
    return {label: count for label, count in pairs if isinstance(count, int)}


def look_at_levels(ground: Ground) -> Finding | None:
    chosen = ground.plan.config.curriculum.levels
    labels = ground.plan.task.levels
    counts = training_counts(ground.plan.task)
    kept = set(labels if chosen is None else [labels[level] for level in chosen])
    return levels({label: count for label, count in counts.items() if label in kept})


def look_at_repeats(ground: Ground) -> Finding | None:
    counts, config = training_counts(ground.plan.task), ground.plan.config
    if not counts or config.run.steps is None or len(counts) < len(ground.plan.task.levels):
        return None
    return repeats(sum(counts.values()), config.sampling.groups, config.run.steps)


def look_at_problems(ground: Ground) -> Finding | None:
    """Tasks that draw from given problems know how many they have, and were looked at."""
    task = ground.plan.task
    if training_counts(task):
        return None
    rng = np.random.default_rng(0)
    some = range(0, len(task.levels), -(-len(task.levels) // LEVELS))
    return drawn([task.generate(level, rng) for level in some for _ in range(DRAWS)])


def look_at_deadline(ground: Ground) -> Finding | None:
    config = ground.plan.config
    options = judge_options(config)
    answers = config.sampling.groups * config.sampling.group_size
    inline = runs_inline(ground.plan.task.verifier)
    return deadline(inline, options.workers, options.seconds, answers)
