"""The probe of `doctor`: problems of all levels, and then a batch as the first step will have it.

Both are bounded in time, and what was cut short for that says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenodds.domain import Group, Problem, Status, Verdict
from evenodds.judge import Judge, open_judge
from evenodds.report.text import counted
from evenodds.run.build import Plan, judge_options, learner_options, limits_of, started
from evenodds.run.preflight.answers import probed_answers
from evenodds.run.preflight.ground import Probe, Timed, trained_levels
from evenodds.run.preflight.trial import SEED

if TYPE_CHECKING:
    from evenodds.batch import Batch
    from evenodds.learner import TorchLearner
    from evenodds.objectives import Objective
    from evenodds.run.making import Engine

ANSWERS = 4  # to each problem of the probe
FIRST, MOST = 8, 64  # problems that are asked in any case, and at most
SECONDS = 10.0  # what each of the two parts may take, after what is asked in any case

Tell = Callable[[str], Callable[[int, int], None]]
"""Told what begins, it gives what is to be told how far that is."""


@dataclass
class _Asking:
    """Draws and judges, and counts the seconds of both."""

    plan: Plan
    made: Engine
    judge: Judge
    tell: Tell
    sample: float = 0.0
    judged: float = 0.0

    def __call__(self, problems: Sequence[Problem], answers: int, seed: int) -> list[Group]:
        prompts = [problem.prompt for problem in problems]
        limits = limits_of(self.plan.config, self.plan.task)
        sampler = self.made.sampler
        begun = time.monotonic()
        sampler.progress = self.tell(f"asking {counted(len(problems), 'problem')}")
        try:
            rollouts = sampler.sample(prompts, answers, limits, seed)
        finally:
            sampler.progress = None
        drawn = time.monotonic()
        verdicts = self.judge.judge(problems, rollouts)
        self.sample += drawn - begun
        self.judged += time.monotonic() - drawn
        return [Group(*row) for row in zip(problems, rollouts, verdicts, strict=True)]

    @property
    def seconds(self) -> float:
        return self.sample + self.judged


def probed(plan: Plan, made: Engine, objective: Objective, tell: Tell) -> Probe:
    """At least 32 answers over the levels, and at least one group of a first step."""
    with open_judge(plan.task.verifier, judge_options(plan.config)) as judge:
        asking = _Asking(plan, made, judge, tell)
        probe = _over_levels(plan, asking)
        return _first_step(probe, plan, made, objective, _Asking(plan, made, judge, tell))


def _over_levels(plan: Plan, asking: _Asking) -> Probe:
    levels = trained_levels(plan)
    rng = np.random.default_rng(SEED)
    problems = [plan.task.generate(levels[n % len(levels)], rng) for n in range(MOST)]
    groups = asking(problems[:FIRST], ANSWERS, SEED)
    each = max(1e-3, asking.seconds) / FIRST
    more = min(MOST, FIRST + int(SECONDS / each))
    if more > FIRST:
        groups += asking(problems[FIRST:more], ANSWERS, SEED + 1)
    note = (
        "" if more == MOST else f"{more} of {MOST} problems were asked, in {asking.seconds:.0f} s"
    )
    return Probe(tuple(groups), asking.seconds, note=note)


def _first_step(
    probe: Probe, plan: Plan, made: Engine, objective: Objective, asking: _Asking
) -> Probe:
    """The probe with a batch as the curriculum begins with, or as many groups of it as there is
    time for."""
    config = plan.config
    found = probed_answers(probe, config.sampling.max_tokens)
    curriculum = started(plan.curriculum, config, found.record())
    wanted, size = config.sampling.groups, config.sampling.group_size
    each = probe.seconds / max(1, found.answers) * size
    count = max(1, min(wanted, int(SECONDS / max(1e-6, each))))
    problems = curriculum.propose(wanted, np.random.default_rng(SEED))[:count]
    groups = asking(problems, size, SEED + 2)
    note = probe.note
    if count < wanted:
        cut = f"{count} of {wanted} groups of a first step were drawn, in {asking.seconds:.0f} s"
        note = f"{note}; {cut}" if note else cut
    learn = learning_seconds(groups, plan, made, objective)
    timed = Timed(asking.sample, asking.judged, learn)
    seconds = probe.seconds + asking.seconds
    return replace(probe, seconds=seconds, batch=tuple(groups), timed=timed, note=note)


def learning_seconds(
    groups: Sequence[Group], plan: Plan, made: Engine, objective: Objective
) -> float:
    """Of a pass forward and backward over all answers, as if every group were mixed.

    The weights stay what they are: gradients are computed and let go again.
    """
    from evenodds.batch import collate
    from evenodds.learner import TorchLearner

    policy = made.policy
    learner = TorchLearner(policy, learner_options(plan.config, policy, made.memory))
    batch = collate([_mixed(group) for group in groups], replace(objective, mask_truncated=False))
    seconds = _pass_seconds(learner, batch, objective)
    if seconds < 1:  # the first pass of a process is slower than all others
        seconds = _pass_seconds(learner, batch, objective)
    return seconds


def _mixed(group: Group) -> Group:
    """The group with made-up rewards that differ, so that all of it is learned from.

    Its reference is the policy itself: what another costs is reckoned apart, in `pace_of_probe`.
    """
    pays = [Verdict(float(n % 2), (Status.WRONG, Status.RIGHT)[n % 2]) for n in range(2)]
    verdicts = [pays[n % 2] for n in range(len(group.rollouts))]
    rollouts = [replace(one, reference_logprobs=one.logprobs) for one in group.rollouts]
    return replace(group, rollouts=rollouts, verdicts=verdicts)


def _pass_seconds(learner: TorchLearner, batch: Batch, objective: Objective) -> float:
    from evenodds.learner import ask, asked

    begun = time.monotonic()
    for micro in asked(learner.policy, batch, learner.options.micro_batch_tokens):
        logprobs, entropy = ask(learner.policy, micro, batch.temperature, objective.entropy != 0)
        objective.score(micro.tokens(logprobs, entropy), batch.extent).loss.backward()
    learner.optimizer.zero_grad(set_to_none=True)
    if learner.policy.device.type == "cuda":
        import torch

        torch.cuda.synchronize()
    return time.monotonic() - begun
