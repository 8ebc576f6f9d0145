"""A step sampled again with the schedule that it had: prompts, rounds, seeds, rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from evenodds.domain import Limits, Problem, Rollout, rollout_seed
from evenodds.errors import RunError
from evenodds.records import RecordedGroup

if TYPE_CHECKING:
    from evenodds.sampling import Sampler
    from evenodds.step import State


def sampled(
    state: State, sampler: Sampler, recorded: Sequence[RecordedGroup], limits: Limits
) -> list[tuple[Problem, list[Rollout]]]:
    """The problems and rollouts of the step behind `state`, in the order of the record.

    Problems are proposed anew, by the curriculum as it stood; the record only says how many each
    round had. Raises `RunError` where they are not those of the record.
    """
    found: list[tuple[Problem, list[Rollout]]] = []
    for turn, size in enumerate(sizes_of(state, recorded)):
        problems = state.curriculum.propose(size, state.rng(turn))
        here = recorded[len(found) : len(found) + size]
        _require_same(problems, here)
        prompts = [problem.prompt for problem in problems]
        group_size = len(here[0].answers)
        rollouts = sampler.sample(prompts, group_size, limits, state.sampling_seed(turn))
        found += zip(problems, rollouts, strict=True)
    return found


def sizes_of(state: State, recorded: Sequence[RecordedGroup]) -> list[int]:
    """How many groups each round of the step drew. Old files tell it by the seeds alone."""
    rounds = [group.round for group in recorded]
    if any(turn is None for turn in rounds):
        rounds = _rounds_by_seed(state, recorded)
    return [len(list(groups)) for _, groups in groupby(rounds)]


def _rounds_by_seed(state: State, recorded: Sequence[RecordedGroup]) -> list[int]:
    rounds: list[int] = []
    turn = place = 0
    for group in recorded:
        seed = group.answers[0].rollout.seed
        if rounds and rollout_seed(state.sampling_seed(turn), place, 0) != seed:
            turn, place = turn + 1, 0
        rounds.append(turn)
        place += 1
    return rounds


def _require_same(problems: Sequence[Problem], recorded: Sequence[RecordedGroup]) -> None:
    for problem, group in zip(problems, recorded, strict=True):
        if problem.key != group.problem.key:
            raise RunError(
                f"the task proposes other problems than it did: group {group.number} was "
                f"{group.problem.key!r:.80}, now {problem.key!r:.80}. Bring back the data and the "
                "version that the run was made with."
            )
