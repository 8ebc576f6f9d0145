"""Bytes: what a run takes of the memory and of the disk, against what there is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evenodds.machine import free_disk, size_text
from evenodds.run.folder import RECORDS, checkpoint_bytes
from evenodds.run.memory import SPARE, MemoryPlan, choose
from evenodds.run.memory_text import remedy
from evenodds.run.preflight.answers import Sampled
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground
from evenodds.run.preflight.pace import pace_of
from evenodds.statistics import percent

ROW, TOKEN = 20, 12  # bytes of an answer in a rollout file, and of each of its tokens
PROBLEM = 1000  # of a problem in the record of an evaluation
LINES = 4000  # of the lines that each step has in metrics.jsonl and groups.jsonl
ROOM = 1.25  # what a run may take of what is free is told from here on
STEPS = 200  # where nobody knows how many there will be


def memory(plan: MemoryPlan) -> Finding:
    """The plan of a run against the memory there is."""
    tokens = f"micro-batches of {plan.micro_batch_tokens:,} tokens, {plan.rows} answers at once"
    again = ", gradient checkpointing" if plan.gradient_checkpointing else ""
    what = f"it takes {size_text(plan.needed)} at most: {tokens}{again}"
    if not plan.memory:
        return Finding("memory", "skipped", f"{what}; nobody tells how much memory there is")
    what = f"{what}; there are {size_text(plan.memory)}"
    if plan.fits:
        return Finding("memory", "fine", what)
    why = f"with {percent(SPARE)} to spare it does not fit: the run would be killed in a step"
    return Finding("memory", "fatal", what, why, _fitting(plan))


def _fitting(plan: MemoryPlan) -> str:
    """The largest half, quarter and so on of a setting with which it fits; else what else helps."""
    work = plan.work
    for name, field, least in (("max_tokens", "answer", 16), ("group_size", "group_size", 2)):
        value = getattr(work, field) // 2
        while value >= least:
            less = {field: value, "evaluated": min(work.evaluated, value)}
            if field == "group_size":
                less = {field: value, "samples": min(work.samples, value)}
            tried = replace(work, **less)
            if choose(plan.sizes, plan.precision, tried, plan.memory).fits:
                return f"--sampling.{name} {value}"
            value //= 2
    return remedy(plan)


@dataclass(frozen=True)
class Written:
    """Bytes that a run writes. checkpoint: of one, of which there are `kept` and one in the making.
    step: of each step, evaluation: of each of `evaluations`."""

    checkpoint: int
    kept: int
    step: int
    steps: int
    evaluation: int
    evaluations: int = 2

    @property
    def checkpoints(self) -> int:
        return (self.kept + 1) * self.checkpoint

    @property
    def records(self) -> int:
        evaluations = self.evaluations * self.evaluation
        return self.steps * self.step + evaluations + self.checkpoint // 3  # and the model

    @property
    def total(self) -> int:
        return self.checkpoints + self.records


def disk(written: Written, free: int) -> Finding:
    """free: bytes where the run will lie."""
    what = (
        f"about {size_text(written.total)} will be written, {size_text(written.checkpoints)} of it "
        f"checkpoints and {size_text(written.step)} a step; {size_text(free)} are free"
    )
    if ROOM * written.total + RECORDS <= free:
        return Finding("disk", "fine", what)
    why = "a run that finds the disk full stops, with what was saved before"
    change = "--run.root on another disk"
    if written.checkpoints > written.records and written.kept > 1:
        change += ", or --run.keep 1"
    least = max(written.total, written.checkpoints + RECORDS)  # `train` asks for the latter
    level = "fatal" if least > free else "warning"
    return Finding("disk", level, what, why, change)


def rollout_bytes(answers: int, tokens: float) -> int:
    """Of a file of so many answers, of so many tokens each."""
    return int(answers * (ROW + tokens * TOKEN))


def look_at_memory(ground: Ground) -> Finding | None:
    return None if ground.made.memory is None else memory(ground.made.memory)


def look_at_disk(ground: Ground) -> Finding | None:
    found, pace = ground.sampled, pace_of(ground)
    if found is None or pace is None:
        return None
    run = ground.plan.config.run
    steps = run.steps or STEPS
    if run.max_time is not None:
        steps = min(run.steps or pace.fitting(run.max_time), pace.fitting(run.max_time))
    return disk(written_by(ground, found, steps), free_disk(ground.folder.path))


def written_by(ground: Ground, found: Sampled, steps: int) -> Written:
    config = ground.plan.config
    answers = config.sampling.groups * config.sampling.group_size
    mean = found.tokens / max(1, found.answers)
    section, every = config.evaluation, config.evaluation.every
    problems = section.problems * len(section.levels or ground.plan.task.levels)
    evaluated = problems * (section.samples + section.greedy)
    from evenodds.learner import bytes_learned

    return Written(
        checkpoint=checkpoint_bytes(bytes_learned(ground.made.policy)),
        kept=config.run.keep,
        step=rollout_bytes(answers, mean) + LINES,
        steps=steps,
        evaluation=rollout_bytes(evaluated, mean) + PROBLEM * problems,
        evaluations=2 + (steps // every if every else 0),
    )
