"""Rollouts of a run drawn again, judged again, and their part of the loss worked out again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.domain import Problem, Rollout, Verdict
from evenodds.records import Answer, RecordedGroup
from evenodds.replay.altered import altered, as_written
from evenodds.replay.ground import Departure, Ground, Making, differences, open_ground
from evenodds.replay.match import Match, match
from evenodds.replay.names import Name, require_there
from evenodds.replay.sampled import sampled
from evenodds.replay.share import Share, share_of, step_loss
from evenodds.replay.stages import Watched, watched

if TYPE_CHECKING:
    from evenodds.objectives import Objective
    from evenodds.tasks import Task

Progress = Callable[[int, int], None]
EXACT = 1e-9  # of a score, from which a penalty was taken off and put back


@dataclass(frozen=True)
class Judgement:
    """What was paid then and what the verifier says now.

    recorded: without the penalties of the objective. same: whether status, score, what was
    extracted and the note are equal. chance: the run's rewards were drawn by chance.
    """

    recorded: Verdict
    now: Watched
    same: bool
    chance: bool = False


@dataclass(frozen=True)
class Replayed:
    """One rollout made again. begun, again: what its weights came from, and how many updates were
    computed since, of which `compared` have a line in metrics.jsonl; departure: the first of these
    that is not what its line says.

    different: what computed then and what does now. equal: answers of the whole step that are
    equal in every bit; answers: how many it has. altered: what else the file says wrongly of it.
    """

    name: Name
    problem: Problem
    prompt: str
    recorded: Answer
    now: Rollout
    begun: str
    again: int
    compared: int
    departure: Departure | None
    different: Mapping[str, tuple[Any, Any]]
    match: Match
    equal: int
    answers: int
    judgement: Judgement
    share: Share
    altered: tuple[str, ...] = ()


def replay(
    run: Path,
    names: Sequence[Name],
    *,
    task: Task | None = None,
    make: Making | None = None,
    from_start: bool = False,
    progress: Progress | None = None,
) -> Iterator[Replayed]:
    """The rollouts that are named, in the order of their steps, in one pass over the run.

    task, make: what `train` was given from Python as `task` and `engine`, if anything. from_start:
    no checkpoint is used, so that all weights are made again. Raises `UsageError` or `RunError` in
    one line where something cannot be made again.
    """
    if not names:
        return
    ordered = sorted(set(names))
    require_there(run, ordered)
    ground = open_ground(run, ordered[0].step, task, make, from_start)
    ticks = _Ticks(progress, _work(ground, [name.step for name in ordered]))
    ground.on_step = ticks.one
    for step, here in groupby(ordered, key=lambda name: name.step):
        ground.go_to(step)
        yield from _replayed_step(ground, step, list(here))
        ticks.one()


@dataclass
class _Ticks:
    progress: Progress | None
    total: int
    done: int = 0

    def one(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, max(self.total, self.done))


def _work(ground: Ground, steps: Sequence[int]) -> int:
    """Updates to compute and steps to sample, as far as checkpoints' names tell."""
    at, work = ground.state.step, 0
    for step in sorted(set(steps)):
        found = [number for number in ground.checkpoints() if at < number < step]
        at = max([at, *found])
        work, at = work + step - 1 - at + 1, step - 1
    return work


def _replayed_step(ground: Ground, step: int, names: Sequence[Name]) -> Iterator[Replayed]:
    recorded = ground.recorded(step)
    again = sampled(ground.state, ground.engine.sampler, recorded, ground.limits)
    codec, dtype = ground.engine.policy.codec, _dtype(ground)

    def compared(answer: Answer, now: Rollout) -> Match:
        return match(answer.rollout, now, lambda number: codec.tokenizer.decode([number]), dtype)

    matches = [
        [compared(answer, now) for answer, now in zip(group.answers, rollouts, strict=True)]
        for group, (_, rollouts) in zip(recorded, again, strict=True)
    ]
    every = [one for row in matches for one in row]
    row = ground.metrics.get(step, {})
    loss = step_loss(recorded, _objective_then(ground, row), ground.passes(step))
    for name in names:
        group, (problem, rollouts) = recorded[name.group], again[name.group]
        answer, share = group.answers[name.answer], share_of(recorded, name[1:], loss, row)
        advantage = None if share.part is None else share.part.advantage
        yield Replayed(
            name,
            problem,
            group.prompt,
            answer,
            rollouts[name.answer],
            ground.begun,
            ground.again,
            ground.compared,
            ground.departure,
            differences(ground, step),
            matches[name.group][name.answer],
            sum(one.kind == "bit-equal" for one in every),
            len(every),
            _judged(ground, problem, group, rollouts, name.answer),
            share,
            altered(answer, group.problem, rollouts[name.answer], problem, advantage),
        )


def _dtype(ground: Ground) -> str:
    return str(ground.engine.policy.model.dtype).removeprefix("torch.")


def _objective_then(ground: Ground, row: Mapping[str, Any]) -> Objective:
    """The objective of the step as its line has it: the entropy coefficient may move."""
    coefficient = row.get("entropy/coefficient")
    if coefficient is None:
        return ground.objective
    return replace(ground.objective, entropy=float(coefficient))


def _judged(
    ground: Ground, problem: Problem, group: RecordedGroup, now: Sequence[Rollout], at: int
) -> Judgement:
    """The verifier's verdict on the recorded answer, with a trace, beside the recorded one."""
    from evenodds.objectives import unshaped

    tail = ground.engine.policy.codec.tail(problem.prompt)
    rollouts = [replace(answer.rollout, prompt_tail=tail) for answer in group.answers]
    same = [
        one.ids.size == two.ids.size and bool((one.ids == two.ids).all())
        for one, two in zip(rollouts, now, strict=True)
    ]
    rollouts = [two if equal else one for one, two, equal in zip(rollouts, now, same, strict=True)]
    config = ground.plan.config
    found = watched(
        ground.plan.task.verifier,
        problem,
        [rollout.completion for rollout in rollouts],
        [rollout.ids.tolist() for rollout in rollouts],
        at,
        config.judge.seconds,
    )
    paid = group.answers[at].verdict
    recorded = unshaped(paid, ground.objective)
    is_same = _same(recorded, found.verdict, exact=recorded.score == paid.score)
    return Judgement(recorded, found, is_same, config.run.random_reward)


def _same(recorded: Verdict, now: Verdict, exact: bool) -> bool:
    """exact: nothing was taken off the recorded score, so that each of its bits counts."""
    extracted = None if now.extracted is None else as_written(now.extracted)
    texts = (recorded.extracted, recorded.note) == (extracted, as_written(now.note))
    room = 0.0 if exact else EXACT * max(1.0, abs(now.score))
    score = recorded.score == now.score or abs(recorded.score - now.score) <= room
    return recorded.status is now.status and texts and score
