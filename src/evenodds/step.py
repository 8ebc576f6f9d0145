"""The training step: everything that the algorithm does is on this screen, and it is what runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenodds.batch import collate
from evenodds.curricula import Curriculum
from evenodds.domain import Group, Limits
from evenodds.judge import Judge
from evenodds.learner import Learner, Update
from evenodds.objectives import Objective
from evenodds.sampling import Sampler


@dataclass(frozen=True)
class Tools:
    """The three effects of a step."""

    sampler: Sampler
    judge: Judge
    learner: Learner


@dataclass(frozen=True)
class StepConfig:
    """groups × group_size answers a step, drawn within `limits`, learned from by `objective`."""

    groups: int
    group_size: int
    limits: Limits
    objective: Objective


@dataclass(frozen=True)
class State:
    """All that a resumed run needs beside weights and optimizer.

    Randomness is a function of (seed, step), so there is no generator to save: what a step draws
    depends on nothing but these two numbers.
    """

    curriculum: Curriculum
    seed: int = 0
    step: int = 0
    version: int = 0
    tokens: int = 0

    @property
    def rng(self) -> np.random.Generator:
        """Fresh for every step: what is proposed."""
        return np.random.default_rng([self.seed, self.step, 0])

    @property
    def sampling_seed(self) -> int:
        """Fresh for every step: what is drawn."""
        return int(np.random.SeedSequence([self.seed, self.step, 1]).generate_state(1)[0])

    def observed(self, groups: list[Group]) -> State:
        drawn = sum(rollout.ids.size for group in groups for rollout in group.rollouts)
        return replace(
            self,
            curriculum=self.curriculum.observe(groups),
            step=self.step + 1,
            tokens=self.tokens + drawn,
        )

    def updated(self) -> State:
        return replace(self, version=self.version + 1)


@dataclass(frozen=True)
class StepReport:
    """What a step did: its groups, and the update unless every group agreed."""

    groups: list[Group]
    update: Update | None = None
    skipped: str = ""


def train_step(state: State, tools: Tools, config: StepConfig) -> tuple[State, StepReport]:
    """One policy update."""
    problems = state.curriculum.propose(config.groups, state.rng)
    prompts = [problem.prompt for problem in problems]
    rollouts = tools.sampler.sample(prompts, config.group_size, config.limits, state.sampling_seed)
    verdicts = tools.judge.judge(problems, rollouts)
    groups = [Group(*row) for row in zip(problems, rollouts, verdicts, strict=True)]
    state = state.observed(groups)
    useful = [group for group in groups if group.is_informative]
    batch = collate(useful, config.objective)
    if not batch.prompts:
        return state, StepReport(groups, skipped=nothing_because(groups))
    update = tools.learner.update(batch, config.objective)
    state = state.updated()
    tools.sampler.load(tools.learner.weights(), state.version)
    return state, StepReport(groups, update)


def nothing_because(groups: list[Group]) -> str:
    """Why a step had nothing to learn from."""
    if not any(group.judged.any() for group in groups):
        notes = [verdict.note for group in groups for verdict in group.verdicts if verdict.note]
        return f"no answer could be judged ({notes[0] if notes else 'no reason given'})"
    if any(group.is_informative for group in groups):
        return "every answer that differed was cut by the budget: raise sampling.max_tokens"
    if all(rollout.is_truncated for group in groups for rollout in group.rollouts):
        return "every answer was cut by the budget: raise sampling.max_tokens"
    return "every group agreed: nothing to learn from"


def learner_logprobs(report: StepReport) -> dict[tuple[int, int], Any]:
    """(group, answer) -> the learner's first-pass log-probabilities of that answer's tokens.

    The learner counts rollouts over the informative groups only; here they are found again.
    """
    if report.update is None:
        return {}
    places = [
        (g, a)
        for g, group in enumerate(report.groups)
        if group.is_informative
        for a in range(len(group.rollouts))
    ]
    return {places[index]: values for index, values in report.update.logprobs.items()}
