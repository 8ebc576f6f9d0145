"""The run: evaluate the base, train, evaluate again, and write it all down."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from evenodds.errors import UsageError
from evenodds.machine import prepare_environment
from evenodds.report import write_report
from evenodds.report.comparison import Comparison, compare
from evenodds.report.terminal import View, make_view
from evenodds.run.build import Plan, objective_of, plan_of, policy_options
from evenodds.run.config import Config, make_config, read_toml
from evenodds.run.folder import RunFolder, fresh_name, require_space
from evenodds.run.lock import RunLock
from evenodds.run.stopping import Clock, Interrupts
from evenodds.tasks import Task

# how long a run goes on and what it keeps may change when it is taken up again; all else may not
CHANGEABLE = ("steps", "max_time", "save_every", "keep", "root", "name")


@dataclass(frozen=True)
class Result:
    """What a run has to say. exit_code is 130 or 143 after a signal, else 0."""

    folder: Path
    steps: int
    exit_code: int = 0
    comparison: Comparison | None = field(default=None, repr=False)


def _comparable(config: Config) -> dict[str, Any]:
    data = config.model_dump()
    data["run"] = {k: v for k, v in data["run"].items() if k not in CHANGEABLE}
    return data


def _difference(old: Config, new: Config) -> str | None:
    """The first setting in which two configurations differ, as `section.name: old, new`."""
    before, after = _comparable(old), _comparable(new)
    for section, values in before.items():
        for name, value in values.items():
            if after[section][name] != value:
                return f"{section}.{name} was {value!r}, now {after[section][name]!r}"
    return None


def open_folder(config: Config, now: datetime) -> RunFolder:
    """Where this run is written. Raises `UsageError` if another configuration lives there."""
    root = Path(config.run.root)
    name = config.run.name or fresh_name(config.task.name, config.policy.name, now, root)
    folder = RunFolder.under(root, name)
    if folder.config.exists():
        difference = _difference(make_config(read_toml(folder.config)), config)
        if difference:
            raise UsageError(
                f"the run {str(folder.path)!r} has another configuration: {difference}. "
                "Choose another --run.name, or give the same settings."
            )
    elif folder.path.exists() and any(path.name != "lock" for path in folder.path.iterdir()):
        raise UsageError(
            f"{str(folder.path)!r} exists and is no run folder. Choose another --run.name."
        )
    return folder


def _needed_bytes(policy: Any) -> int:
    """Disk for checkpoints (weights and two moments each, three at the worst) and the records."""
    weights = sum(p.numel() * p.element_size() for p in policy.trainable().values())
    return 3 * 3 * weights + 64 * 2**20


def train(
    config: Config,
    *,
    task: Task | None = None,
    view: View | None = None,
    argv: Sequence[str] = (),
) -> Result:
    """Train as `config` says, in a new run folder or going on in the one that it names.

    Raises `UsageError` before anything is written if something named cannot be used.
    """
    clock = Clock(config.run.max_time)
    folder = open_folder(config, datetime.now())
    plan = plan_of(config, task)
    prepare_environment()
    objective = objective_of(config)  # from here on torch is there
    from evenodds.learner import prepare_process
    from evenodds.policies.load import load_policy
    from evenodds.run.session import Session

    prepare_process()
    shown = view or make_view(sys.stderr)
    policy = load_policy(policy_options(config))
    check_fit(policy, plan)
    require_space(folder.path, _needed_bytes(policy))
    with Interrupts() as interrupts, RunLock(folder.path):
        session = Session(plan, policy, objective, folder, shown, clock, interrupts)
        try:
            return _run(session, argv)
        finally:
            shown.close()


def check_fit(policy: Any, plan: Plan) -> None:
    """Raise `UsageError` where the task's prompts do not fit the policy: template, or length."""
    prompts = [plan.task.held_out(level)[0].prompt for level in range(len(plan.task.levels))]
    longest = max(policy.codec.encode(prompt).size for prompt in prompts)
    room = getattr(policy.model.config, "max_position_embeddings", None)
    budget = plan.config.sampling.max_tokens
    if room is not None and longest + budget > room:
        raise UsageError(
            f"{policy.name!r} reads {room} tokens at most, but a prompt of {longest} and "
            f"sampling.max_tokens of {budget} were asked for. Lower max_tokens."
        )


def _title(plan: Plan, session: Any) -> tuple[str, list[str]]:
    config, policy = plan.config, session.policy
    kind = f"LoRA rank {config.policy.rank}" if policy.is_adapter else "all weights"
    size = sum(p.numel() for p in policy.model.parameters())
    title = f"{config.policy.name} learns {plan.task.name}"
    return title, [
        f"{size / 1e6:.1f} M parameters, {kind}, {policy.device.type}, "
        f"{config.objective.recipe}, {config.sampling.groups} problems × "
        f"{config.sampling.group_size} answers a step",
        f"run folder: {session.folder.path}",
    ]


def _run(session: Any, argv: Sequence[str]) -> Result:
    import json

    plan: Plan = session.plan
    folder: RunFolder = session.folder
    title, lines = _title(plan, session)
    session.view.start(title, lines, plan.task.levels)
    going_on = folder.config.exists()
    if not going_on:
        session.writer.begin(plan.config, plan.task, argv)
    base_file = folder.evaluation("base")
    if base_file.exists():
        base = json.loads(base_file.read_text())
        session.evaluation_seconds = base["seconds"]
    else:
        base = session.evaluate("base", "evaluating the base")
    state = session.restore(base) if going_on else session.first_state(base)
    state = session.loop(state)
    if session.interrupts.received:
        return _stopped(session, state.step)
    final = session.evaluate("final", "evaluating the trained policy")
    session.save_model()
    comparison = compare(base, final)
    session.view.table(comparison)
    report = write_report(folder.path)
    session.view.note(f"report: {report}")
    return Result(folder.path, state.step, 0, comparison)


def _stopped(session: Any, step: int) -> Result:
    folder = session.folder.path
    write_report(folder)
    session.view.note(
        f"stopped after step {step}; it is saved. Go on with: evenodds train --resume {folder}"
    )
    return Result(folder, step, 128 + session.interrupts.received)
