"""The GRU experiment as a run like any other: the same loop, records, passports and report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from evenodds.lab.toy.cases import EVIDENCE, Case, profile_of
from evenodds.lab.toy.experiment import Base, make_base
from evenodds.lab.toy.gru import GruSampler
from evenodds.lab.toy.settings import Profile
from evenodds.objectives import Objective
from evenodds.report.again import OWN_TASK
from evenodds.report.terminal import View
from evenodds.run.build import Plan
from evenodds.run.config import Config, make_config, merge
from evenodds.run.making import Engine
from evenodds.run.train import Result, train


def config_of(case: Case, folder: Path, seed: int, size: Profile = EVIDENCE) -> Config:
    """The case as a configuration of a run, in the words of every other run."""
    how = case.setting
    settings: dict[str, object] = {
        "run.root": str(folder.parent),
        "run.name": folder.name,
        "run.seed": seed,
        "run.steps": case.steps,
        "run.save_every": case.steps,
        "run.random_reward": case.random,
        "policy.name": "gru",
        "policy.adapter": "none",
        "task.name": OWN_TASK,
        "sampling.groups": size.groups,
        "sampling.group_size": how.group_size,
        "sampling.max_tokens": size.max_tokens,
        "curriculum.kind": "uniform",
        "learner.learning_rate": how.learning_rate,
        "learner.passes": how.passes,
        "judge.workers": 0,
        "check.bench": case.grader == "sum",
        "evaluation.samples": size.samples,
        "evaluation.problems": size.held_out,
        "evaluation.control": "none",
        **({"objective.kl": how.kl} if how.kl else {}),
        **({"audit.verifier": case.audit} if case.audit else {}),
        **case.more,
    }
    return make_config(merge({}, settings))


def run_in_folder(
    case: Case,
    folder: Path,
    seed: int = 0,
    base: Base | None = None,
    size: Profile | None = None,
    view: View | None = None,
) -> Result:
    """Train a copy of the base as the case says, and write a run folder with its report.

    size: the case's own, unless another is given. base: that of `make_base` with this profile and
    seed, which is made here if it is not given. Raises `UsageError` where the folder holds another
    run.
    """
    size = size or profile_of(case)
    start = base or make_base(size, seed)
    pool = [triple for triple in start.task.train if triple.total < case.setting.below]
    task = replace(start.task, train=tuple(pool[: case.setting.prompts]), grader=case.grader)

    def engine(plan: Plan, objective: Objective) -> Engine:
        """A run asks of its policy and sampler only what these two have as well."""
        policy = start.policy.copy()
        return Engine(cast(Any, policy), cast(Any, GruSampler(policy)))

    return train(
        config_of(case, folder, seed, size), task=task, view=view, argv=sys.argv, engine=engine
    )
