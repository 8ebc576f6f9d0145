"""The training step: everything that the algorithm does is on this screen, and it is what runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenodds.batch import advantages, collate
from evenodds.curricula import Curriculum
from evenodds.domain import Group, Limits, training_seed
from evenodds.errors import UsageError
from evenodds.finite import NONE, Skips
from evenodds.judge import Judge, begin
from evenodds.learner import Learner, Update
from evenodds.objectives import EntropyBonus, Objective, shaped
from evenodds.reference import Reference
from evenodds.sampling import Sampler


@dataclass(frozen=True)
class Tools:
    """The effects of a step. reference: asked only by objectives that want a KL.

    examine: gets all judged answers before anything is learned from them, so that what it raises,
    as for a signal, leaves a step that has changed nothing.
    """

    sampler: Sampler
    judge: Judge
    learner: Learner
    reference: Reference | None = None
    examine: Callable[[Sequence[Group]], None] | None = None


@dataclass(frozen=True)
class StepConfig:
    """groups × group_size answers a step, drawn within `limits`, learned from by `objective`.

    rounds: times that problems are proposed and answered in a step at most. Where the objective
    refills, later rounds replace groups that agreed.
    """

    groups: int
    group_size: int
    limits: Limits
    objective: Objective
    rounds: int = 1


@dataclass(frozen=True)
class State:
    """All that a resumed run needs beside weights and optimizer.

    Randomness is a function of (seed, step), so there is no generator to save: what a step draws
    depends on nothing but these two numbers. bonus: what a nat of entropy is paid, where that
    follows the entropy; without one the objective's own coefficient stays. skips: of updates.
    """

    curriculum: Curriculum
    seed: int = 0
    step: int = 0
    version: int = 0
    tokens: int = 0
    bonus: EntropyBonus | None = None
    skips: Skips = NONE

    def rng(self, turn: int = 0) -> np.random.Generator:
        """Fresh for every step and round: what is proposed."""
        return np.random.default_rng([self.seed, self.step, 2 * turn])

    def sampling_seed(self, turn: int = 0) -> int:
        """Fresh for every step and round: what is drawn. Never a seed of an evaluation."""
        entropy = np.random.SeedSequence([self.seed, self.step, 2 * turn + 1])
        return training_seed(int(entropy.generate_state(1)[0]))

    def observed(self, groups: list[Group]) -> State:
        drawn = sum(rollout.ids.size for group in groups for rollout in group.rollouts)
        tokens, curriculum = self.tokens + drawn, self.curriculum.observe(groups)
        return replace(self, curriculum=curriculum, step=self.step + 1, tokens=tokens)

    def updated(self, update: Update, keys: Sequence[str]) -> State:
        state = replace(self, skips=self.skips.counted(self.step, update.skipped, keys))
        if not update.is_taken:
            return state
        bonus = self.bonus and self.bonus.observe(update.metrics["entropy"])
        return replace(state, version=self.version + 1, bonus=bonus)


@dataclass(frozen=True)
class StepReport:
    """What a step did: its groups, and the update unless there was nothing to learn from.

    objective: the one that was used. sizes: how many groups each round of sampling drew, in order.
    skipped: why no weight has changed. fault: why a pass, and those behind it, were not taken.
    """

    groups: list[Group]
    objective: Objective
    sizes: tuple[int, ...] = ()
    update: Update | None = None
    skipped: str = ""
    fault: str = ""

    @property
    def rounds(self) -> int:
        return max(1, len(self.sizes))


def train_step(state: State, tools: Tools, config: StepConfig) -> tuple[State, StepReport]:
    """One policy update. Raises `NotFinite` behind too many that were skipped in a row."""
    state.skips.require()
    objective = state.bonus.applied(config.objective) if state.bonus else config.objective
    require_reference(objective, tools)
    groups, sizes = answered(state, tools, config)
    if tools.examine is not None:
        tools.examine(groups)
    state = state.observed(groups)
    if tools.reference is not None and objective.needs_reference:
        groups = tools.reference.annotate(groups)
    groups = [shaped(group, objective) for group in groups]
    state, update = learned(state, groups, tools, objective)
    fault = state.skips.fault if update and update.skipped else ""
    skipped = "" if update and update.is_taken else fault or nothing_because(groups, objective)
    return state, StepReport(groups, objective, sizes, update, skipped, fault)


def learned(
    state: State, groups: list[Group], tools: Tools, objective: Objective
) -> tuple[State, Update | None]:
    """The update from groups that have all their rewards; None where they teach nothing."""
    batch = collate(groups, objective)
    if not batch.prompts:
        return state, None
    update = tools.learner.update(batch, objective)
    state = state.updated(update, [group.problem.key for group in groups for _ in group.rollouts])
    if update.is_taken:
        tools.sampler.load(tools.learner.weights(), state.version)
    return state, update


def answered(state: State, tools: Tools, config: StepConfig) -> tuple[list[Group], tuple[int, ...]]:
    """Judged answers, and how many groups each round drew: one, or more where they are refilled."""
    groups: list[Group] = []
    sizes: list[int] = []
    refills = config.objective.zero_signal == "refill"
    for turn in range(config.rounds if refills else 1):
        missing = config.groups - sum(group.is_informative for group in groups)
        if not missing:
            break
        sizes.append(missing)
        problems = state.curriculum.propose(missing, state.rng(turn))
        prompts = [problem.prompt for problem in problems]
        seed = state.sampling_seed(turn)
        with begin(tools.judge, problems) as judging:  # where it can, it judges what is finished
            rollouts = tools.sampler.sample(
                prompts, config.group_size, config.limits, seed, judging.give
            )
            verdicts = judging.verdicts(rollouts)
        groups += [Group(*row) for row in zip(problems, rollouts, verdicts, strict=True)]
    return groups, tuple(sizes)


def require_reference(objective: Objective, tools: Tools) -> None:
    """Raise `UsageError` where an objective asks a reference policy that is not there."""
    if objective.needs_reference and tools.reference is None:
        raise UsageError(
            "the objective wants a KL, but there is no reference policy. Got Tools without one. "
            "Give Tools(..., reference=TorchReference(policy))."
        )


def nothing_because(groups: list[Group], objective: Objective) -> str:
    """Why a step had nothing to learn from."""
    if not any(group.judged.any() for group in groups):
        notes = [verdict.note for group in groups for verdict in group.verdicts if verdict.note]
        return f"no answer could be judged ({notes[0] if notes else 'no reason given'})"
    if any(group.is_informative for group in groups):
        if any(credit.any() for credit in advantages(groups, objective)):
            return "every answer that differed was cut by the budget: raise sampling.max_tokens"
        return "no answer has an advantage, though rewards differ: see objective.credit"
    if all(rollout.is_truncated for group in groups for rollout in group.rollouts):
        return "every answer was cut by the budget: raise sampling.max_tokens"
    return "every group agreed: nothing to learn from"
