"""Whether the problems are what a run needs: enough of them, each with one answer, judged in time.

What makes a task unusable is refused when it is made: a prompt with two golds in given data, a
problem that is held out and trained on. Here is what is legal and yet mostly a slip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from evenodds.domain import SAME_REWARD, Problem, as_text
from evenodds.judge import open_judge
from evenodds.judge.opening import runs_inline
from evenodds.report.text import counted, duration, one_line
from evenodds.run.asked import is_same_twice
from evenodds.run.build import judge_options
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground, trained_levels
from evenodds.tasks import Task
from evenodds.tasks.values import short
from evenodds.verifiers import RegisteredVerifier

FEW = 8  # problems of a level
OFTEN = 100  # times that each problem is asked
DRAWS, LEVELS = 32, 8  # problems that are drawn of each of so many levels
LOST = 0.1  # share of rows that are left out
SAME = 0.9  # share of problems with one gold
CHANCE = 0.25  # share of scores that change of themselves
AGAIN = 3.0  # seconds for judging again
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


def rows_left_out(reasons: Mapping[str, int], kept: int) -> Finding | None:
    """reasons: rows of the data that are not used, by why. kept: problems that are."""
    lost = sum(reasons.values())
    if not lost:
        return None
    named = ", ".join(f"{why}: {count:,}" for why, count in reasons.items() if count)
    what = f"{lost:,} of {lost + kept:,} rows of the data are left out ({named})"
    if lost < LOST * (lost + kept):
        return Finding("left_out", "fine", what)
    return Finding(
        "left_out",
        "warning",
        what,
        "the run has fewer problems than it looks; a prompt column that holds the same words in "
        "many rows, or a test set that was trained on elsewhere, shows like this",
        "the column in --task.prompt, or the files in --task.data and --task.held_out_data",
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


def same_twice(task: Task, level: int) -> Finding | None:
    if is_same_twice(task, level):
        return None
    return Finding(
        "problems",
        "warning",
        "drawn again with the same numbers, the task gave other problems",
        "a run that goes on after a stop is then another run, and no seed repeats it",
        "generate of the task: use the rng that it is given, and no other chance or state",
    )


def one_answer(problems: Sequence[Problem]) -> Finding | None:
    """problems: drawn as training draws them, with a gold that the verifier compares with."""
    golds = Counter({p.key: p.answer.strip() for p in problems if p.answer.strip()}.values())
    if golds.total() < FEW:
        return None
    answer, times = golds.most_common(1)[0]
    share = times / golds.total()
    if share < SAME:
        return None
    return Finding(
        "problems",
        "warning",
        f"{times} of {golds.total()} different problems that were drawn have the gold "
        f"{short(answer)}",
        f"who says so whatever is asked is paid in {share:.0%} of the problems, and that is "
        "learned first",
        "the column in --task.answer, or problems with other answers among them",
    )


def verdicts(changed: int, answers: int) -> Finding:
    """changed: answers whose score was another one the second time, of so many."""
    what = f"{changed} of {answers:,} answers had another score when they were judged again"
    if not changed:
        return Finding("verdicts", "fine", f"{answers:,} answers judged again had the same score")
    return Finding(
        "verdicts",
        "fatal" if changed >= CHANCE * answers else "warning",
        what,
        "answers to one problem are compared with each other, and chance is then what is compared",
        "the verifier, so that its score depends on problem and text alone: no clock, no random "
        "number without a seed, temperature 0 where a model judges",
    )


def look_at_verdicts(ground: Ground) -> Finding | None:
    """Some answers of the probe are judged once more, in `doctor` alone."""
    probe = ground.probe
    if probe is None or probe.timed is None:
        return None
    each = probe.timed.judge / sum(len(group.rollouts) for group in probe.batch)
    groups = probe.groups[: max(2, int(AGAIN / max(1e-6, each * len(probe.groups[0].rollouts))))]
    with open_judge(ground.plan.task.verifier, judge_options(ground.plan.config)) as judge:
        again = judge.judge([g.problem for g in groups], [[*g.rollouts] for g in groups])
    pairs = [
        pair
        for g, row in zip(groups, again, strict=True)
        for pair in zip(g.verdicts, row, strict=True)
    ]
    known = [(a, b) for a, b in pairs if a.is_judged and b.is_judged]
    if not known:
        return None
    return verdicts(sum(abs(a.score - b.score) > SAME_REWARD for a, b in known), len(known))


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


def look_at_rows(ground: Ground) -> Finding | None:
    task = ground.plan.task
    reasons = cast("Mapping[str, int]", task.passport().get("rows_left_out") or {})
    held_out = sum(len(task.held_out(level)) for level in range(len(task.levels)))
    return rows_left_out(reasons, held_out + sum(training_counts(task).values()))


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
    """Tasks that draw from given problems know how many they have, and prompts with two golds were
    refused there."""
    task, rng = ground.plan.task, np.random.default_rng(0)
    levels = trained_levels(ground.plan)
    some = levels[:: -(-len(levels) // LEVELS)]
    problems = [task.generate(level, rng) for level in some for _ in range(DRAWS)]
    found = None if training_counts(task) else drawn(problems) or same_twice(task, levels[0])
    if found is not None or not isinstance(task.verifier, RegisteredVerifier):
        return found
    return one_answer(problems)


def look_at_deadline(ground: Ground) -> Finding | None:
    config = ground.plan.config
    options = judge_options(config)
    answers = config.sampling.groups * config.sampling.group_size
    inline = runs_inline(ground.plan.task.verifier)
    return deadline(inline, options.workers, options.seconds, answers)
