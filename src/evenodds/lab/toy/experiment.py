"""The experiment: a base is trained further, and measured before and after on two sides.

It runs through the same step, learner, objectives, reference and evaluation as everything else;
its own are the policy, the problems and the verifier.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenodds.curricula import Uniform
from evenodds.domain import Group, Limits
from evenodds.judge import InlineJudge
from evenodds.lab.toy.base import pretrain
from evenodds.lab.toy.gru import GruPolicy, GruSampler
from evenodds.lab.toy.measure import Quality, measure, text_of
from evenodds.lab.toy.problems import Sums, split
from evenodds.lab.toy.settings import Profile, Setting, find_profile, find_setting
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import EntropyBonus, Objective, make_objective
from evenodds.reference import TorchReference
from evenodds.step import State, StepConfig, StepReport, Tools, train_step

SIDES = ("train", "held-out")
SHOWN = 4  # answers of a sample group, and groups a side
BEFORE, AFTER, CHECK = 101, 202, 303  # seeds of evaluations: fresh answers each time

Tell = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class Base:
    """Where training starts. pool: problems that may be trained on; held: those that may not."""

    policy: GruPolicy
    task: Sums


@dataclass(frozen=True)
class Covered:
    """One prompt: how many of `tries` answers were right before and after."""

    side: str
    key: str
    tries: int
    before: int
    after: int


@dataclass(frozen=True)
class Sample:
    """A prompt with some answers from before and from after, and their rewards."""

    side: str
    prompt: str
    gold: str
    before: tuple[tuple[str, float], ...]
    after: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class ToyResult:
    """What came out.

    before, after: by side of the split. history: one entry a training step; entries with `checks`
    hold measures on the way. coverage: by prompt. seconds: of training and evaluation.
    """

    profile: str
    setting: Setting
    seed: int
    objective: Objective
    before: Mapping[str, Quality]
    after: Mapping[str, Quality]
    history: tuple[Mapping[str, Any], ...]
    coverage: tuple[Covered, ...]
    samples: tuple[Sample, ...]
    seconds: float

    def change(self, side: str, metric: str) -> float:
        """After - before."""
        return self.after[side][metric] - self.before[side][metric]


def make_base(profile: str | Profile = "smoke", seed: int = 0, tell: Tell = silent) -> Base:
    """Split the problems and pre-train a GRU on those not held out; all from the seed."""
    size = find_profile(profile)
    pool, held = split(size.held_out, seed)
    policy = pretrain(pool, size.books, seed, lambda done, steps: tell("base", done, steps))
    return Base(policy, Sums(pool, held))


def run_toy_experiment(
    profile: str | Profile = "smoke",
    seed: int = 0,
    objective: str = "dr_grpo",
    setting: str | Setting = "narrow",
    base: Base | None = None,
    tell: Tell = silent,
) -> ToyResult:
    """Train a copy of the base by one setting, and measure it before and after.

    profile: `smoke` or `full`; setting: `narrow` or `kept`; or values of one's own.
    objective: a recipe. The same arguments give the same result, bit for bit on one machine.
    base: that of `make_base` with this profile and seed, which is made here if it is not given.
    Raises `UsageError` for unknown names.
    """
    size, how = find_profile(profile), find_setting(setting)
    chosen = objective_of(objective, how)
    base = base or make_base(size, seed, tell)
    started = time.monotonic()
    task = Sums(base.task.train[: how.prompts], base.task.held)
    lab = _Lab(base.policy.copy(), base.policy.frozen(), task, size, seed)
    before = lab.sides(size.samples, BEFORE)
    target = how.hold * before["train"][0]["token entropy"]
    bonus = EntropyBonus(target, how.entropy, how.entropy_step) if how.entropy else None
    history = _train(lab, how, chosen, bonus, tell)
    after = lab.sides(size.samples, AFTER)
    return ToyResult(
        profile=size.name,
        setting=how,
        seed=seed,
        objective=chosen,
        before={side: quality for side, (quality, _) in before.items()},
        after={side: quality for side, (quality, _) in after.items()},
        history=tuple(history),
        coverage=tuple(row for side in SIDES for row in _covered(side, before, after)),
        samples=tuple(row for side in SIDES for row in _samples(side, before, after)),
        seconds=time.monotonic() - started,
    )


def objective_of(recipe: str, how: Setting) -> Objective:
    """The recipe with the setting's KL; without one the KL is still measured."""
    if how.kl:
        return make_objective(recipe, kl=how.kl)
    return make_objective(recipe, kl_in="measured")


Measured = Mapping[str, tuple[Quality, list[Group]]]


@dataclass(frozen=True)
class _Lab:
    """The three policies are the current one, the reference, and the old one: the current one as
    it stood when it drew, which is in the log-probabilities that the rollouts carry."""

    policy: GruPolicy
    reference: GruPolicy
    task: Sums
    profile: Profile
    seed: int

    @property
    def limits(self) -> Limits:
        return Limits(self.profile.max_tokens)

    def sides(self, samples: int, salt: int) -> dict[str, tuple[Quality, list[Group]]]:
        """Both sides of the split, on answers that are drawn for this alone."""
        tasks = (self.task.seen(), self.task)
        return {
            side: measure(
                self.policy, self.reference, task, self.limits, samples, 1000 * self.seed + salt
            )
            for side, task in zip(SIDES, tasks, strict=True)
        }


def _train(
    lab: _Lab, how: Setting, objective: Objective, bonus: EntropyBonus | None, tell: Tell
) -> list[Mapping[str, Any]]:
    size = lab.profile
    options = LearnerOptions(learning_rate=how.learning_rate, passes=how.passes)
    tools = Tools(
        GruSampler(lab.policy),
        InlineJudge(lab.task.verifier),
        TorchLearner(lab.policy, options),
        TorchReference(lab.reference),
    )
    config = StepConfig(size.groups, how.group_size, lab.limits, objective)
    state = State(Uniform(lab.task), lab.seed, bonus=bonus)
    steps = size.steps[how.name]
    every = max(1, steps // size.checks) if size.checks else steps + 1
    history: list[Mapping[str, Any]] = []
    for step in range(1, steps + 1):
        state, report = train_step(state, tools, config)
        row = _row(step, report)
        if step % every == 0 and step < steps:
            measured = lab.sides(size.check_samples, CHECK)
            row["checks"] = {side: quality for side, (quality, _) in measured.items()}
        history.append(row)
        tell(how.name, step, steps)
    return history


def _row(step: int, report: StepReport) -> dict[str, Any]:
    """One entry of the history: what was paid, and what the update measured."""
    groups = report.groups
    rewards = [float(group.rewards.mean()) for group in groups]
    right = sum(group.right for group in groups) / sum(len(group.rollouts) for group in groups)
    metrics = dict(report.update.metrics) if report.update else {}
    mean = sum(rewards) / len(rewards)
    return {"step": step, "reward": mean, "accuracy": right, "skipped": report.skipped, **metrics}


def _pairs(side: str, before: Measured, after: Measured) -> list[tuple[Group, Group]]:
    return list(zip(before[side][1], after[side][1], strict=True))


def _covered(side: str, before: Measured, after: Measured) -> list[Covered]:
    return [
        Covered(
            side,
            old.problem.key,
            len(old.rollouts),
            old.right,
            new.right,
        )
        for old, new in _pairs(side, before, after)
    ]


def _samples(side: str, before: Measured, after: Measured) -> list[Sample]:
    return [
        Sample(side, str(old.problem.prompt), old.problem.answer, _answers(old), _answers(new))
        for old, new in _pairs(side, before, after)[:SHOWN]
    ]


def _answers(group: Group) -> tuple[tuple[str, float], ...]:
    pairs: Sequence[tuple[Any, Any]] = list(zip(group.rollouts, group.verdicts, strict=True))
    return tuple((text_of(rollout), verdict.score) for rollout, verdict in pairs[:SHOWN])
