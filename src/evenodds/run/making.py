"""What samples and learns, made from a plan, and whether the task fits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenodds.run.as_before import planned_as_before
from evenodds.run.audit import require_askable
from evenodds.run.build import Plan, evaluation_budget, policy_options
from evenodds.run.context import require_context

if TYPE_CHECKING:
    from evenodds.objectives import Objective
    from evenodds.policies import Policy
    from evenodds.run.memory import MemoryPlan
    from evenodds.sampling.native import NativeSampler

PROBES = 20  # training problems of each level that are tried on the tokenizer


@dataclass(frozen=True)
class Engine:
    """What samples and learns. memory: None where nothing has to be planned."""

    policy: Policy
    sampler: NativeSampler
    memory: MemoryPlan | None = None


def native_engine(plan: Plan, objective: Objective) -> Engine:
    """The model that the configuration names, with our own sampler."""
    from evenodds.policies.load import load_policy

    policy = load_policy(policy_options(plan.config))
    check_fit(policy, plan)
    return engine_around(policy, plan, objective)


def engine_around(policy: Policy, plan: Plan, objective: Objective) -> Engine:
    """A policy with its memory plan and our own sampler, which was tried on it.

    Raises `UsageError` if the policy cannot be sampled from.
    """
    from evenodds.run.memory import plan_for
    from evenodds.sampling.native import NativeSampler
    from evenodds.sampling.probe import probe

    memory = plan_for(plan.config, policy, plan.task, objective.needs_reference)
    memory = planned_as_before(memory, plan.sittings)
    sampler = NativeSampler(policy, memory.rows, memory.kv_tokens)
    probe(sampler)
    return Engine(policy, sampler, memory)


def check_fit(policy: Policy, plan: Plan) -> None:
    """Raise `UsageError` if the task's texts do not fit: template, alphabet, length."""
    task, codec = plan.task, policy.codec
    require_askable(plan.evidence.prompts, policy, evaluation_budget(plan.config))
    rng = np.random.default_rng(0)
    levels = range(len(task.levels))
    problems = [problem for level in levels for problem in task.held_out(level)]
    problems += [task.generate(level, rng) for level in levels for _ in range(PROBES)]
    for problem in problems[:: max(1, len(problems) // 200)]:
        codec.require_readable(codec.render(problem.prompt))
        codec.require_readable(problem.answer)
    config = plan.config
    budget = max(config.sampling.max_tokens, evaluation_budget(config))
    require_context(policy, (problem.prompt for problem in problems), budget)
