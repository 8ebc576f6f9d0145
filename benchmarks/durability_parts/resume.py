"""R1 and R2: runs that were ended anywhere and taken up again, and checkpoints that lack a part.

Every sitting is the command `evenodds train` in a process of its own, killed where the story says.
A story differs where one bit of weights, moments, rollouts, metrics without clocks, evaluations,
alarms or state is not that of the run that nobody disturbed. See tests/faults/resume.py.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path

from benchmarks.durability_parts.many import tried
from benchmarks.durability_parts.rows import Row
from tests.faults import ablation, resume
from tests.faults.scratch import scratch
from tests.faults.setting import Setting


def measure(budget: float | None) -> list[Row]:
    with scratch() as root:
        share = budget and budget / 2
        return [resumed(root / "resume", share), ablated(root / "ablation", share)]


def resumed(root: Path, budget: float | None) -> Row:
    names = resume.NAMES
    chosen = (
        names if budget is None else random.sample(names, max(2, min(len(names), int(budget / 10))))
    )
    arms: dict[str, Setting] = {}
    for name, arm in tried(
        "runs nobody disturbs", chosen, lambda n: resume.arm_of(n, root / n), None
    ):
        if isinstance(arm, Setting):
            arms[name] = arm
        else:
            print(f"     {name}: {arm}", file=sys.stderr, flush=True)
    stories = [
        (f"story-{names.index(name)}-{number}", story)
        for name, arm in arms.items()
        for number, story in enumerate(resume.stories_of(arm, name))
    ]
    points, bad, kinds = 0, dict[str, object](), Counter[str]()
    for (name, story), found in tried(
        "resumes", stories, lambda one: resume.tell(one[1], arms[one[1].arm], one[0]), budget
    ):
        points += len(story.moments)
        kinds.update(f"{moment.how} at {moment.where}" for moment in story.moments)
        if found != []:
            bad[str(story)] = found
            print(f"     {story} ({name}): {found}", file=sys.stderr, flush=True)
    for kind, count in sorted(kinds.items()):
        print(f"     {count:4} {kind}", file=sys.stderr)
    told = f"{points} of {sum(len(s.moments) for _, s in stories)} resume points in {len(arms)}"
    found = f"{told} configurations: {len(bad)} stories with a difference"
    holds = not bad and len(arms) == len(chosen) and (budget is not None or points >= 120)
    return Row("R1", ">= 120 resume points, 0 differences, bit for bit", found, holds)


def ablated(root: Path, budget: float | None) -> Row:
    arm = ablation.arm_for(root)
    losses: list[tuple[Path, ablation.Loss, str]] = []
    for moment in (ablation.WITHIN, ablation.PENDING):
        run = ablation.stopped(arm, moment)
        record = json.loads((ablation.newest(run) / "state.json").read_text())
        every = list(ablation.losses(record))
        if moment is ablation.PENDING:
            every = [loss for loss in every if loss.part.startswith("pending")]
        losses += [(run, loss, f"{moment.how}-{number}") for number, loss in enumerate(every)]
    counts, missed = Counter[str](), list[str]()
    for (_, loss, _), found in tried(
        "parts lost", losses, lambda one: ablation.tell(arm, *one), budget
    ):
        what = found[0] if isinstance(found, tuple) else "missed"
        counts[f"{'deleted' if loss.how == 'deleted' else 'replaced'} {what}"] += 1
        if what == "missed":
            missed.append(f"{loss.part} {loss.how}: {found}")
            print(f"     missed: {missed[-1]}", file=sys.stderr, flush=True)
    told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    parts = len({loss.part for _, loss, _ in losses})
    found = f"{sum(counts.values())} of {len(losses)} losses of {parts} parts: {told}"
    asked = "each part of a checkpoint lost in turn: refused or noticed, none missed"
    return Row("R2", asked, found, not missed and sum(counts.values()) > 0)
