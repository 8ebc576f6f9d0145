"""The whole preflight without a run: everything is made, asked a few problems, and let go again.

Nothing is written, and the policy's weights are bit for bit what they were.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from evenodds.bench import paid_forms
from evenodds.errors import EvenoddsError, GateError
from evenodds.report.text import one_line
from evenodds.run.build import Plan, evaluation_budget, objective_of, plan_of
from evenodds.run.config import Config
from evenodds.run.control import readable
from evenodds.run.folder import RunFolder
from evenodds.run.going_on import open_folder
from evenodds.run.preflight.finding import Finding, fatal
from evenodds.run.preflight.ground import Ground
from evenodds.run.preflight.probing import Tell, probed
from evenodds.sinks import factories_of
from evenodds.verifiers import RegisteredVerifier

if TYPE_CHECKING:
    from evenodds.objectives import Objective
    from evenodds.run.making import Engine


@dataclass
class Diagnosis:
    """What was found, and the seconds that each part took, by its name."""

    ignored: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list[Finding])
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def fatal(self) -> list[Finding]:
        return fatal(self.findings, self.ignored)

    @contextmanager
    def timed(self, part: str) -> Generator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.monotonic() - begun


class _Ended(Exception):
    """Something cannot be made, so there is nothing further to look at."""


def diagnose(config: Config, tell: Tell) -> Diagnosis:
    """Everything that can be found out about a run in a few seconds, without making it.

    What cannot be made at all is a fatal finding with the name of its part: nothing is raised for
    it. Raises `UsageError` where `check.ignore` names no check.
    """
    from evenodds.run.preflight.checks import require_known

    require_known(config.check.ignore)
    found = Diagnosis(config.check.ignore)
    try:
        ground = _made(config, found, tell)
        _looked(ground, found, tell)
    except _Ended:
        what = "not looked at: mend this first, and ask again"
        found.findings.append(Finding("all else", "skipped", what))
    return found


def _looked(ground: Ground, found: Diagnosis, tell: Tell) -> None:
    from evenodds.run.preflight.checks import examine

    with found.timed("start checks"):
        found.findings += examine(ground, "start", tell("checking"))
    if any(f.name == "memory" for f in found.fatal):
        why = "no answers were drawn: what is planned does not fit the memory"
        found.findings.append(Finding("probe", "skipped", why))
        return
    with found.timed("probe"), _stage("probe", found):
        probe = probed(ground.plan, ground.made, ground.objective, tell)
    with found.timed("probe checks"):
        asked = Ground(ground.plan, ground.objective, ground.made, ground.folder, None, probe)
        found.findings += examine(asked, "probe", tell("checking answers"))


@contextmanager
def _stage(name: str, found: Diagnosis) -> Generator[None]:
    """What is raised here is a fatal finding of that name, and the end."""
    try:
        yield
    except _Ended:
        raise
    except Exception as error:  # a doctor does not fall ill itself
        named = "verifier" if isinstance(error, GateError) and name == "task" else name
        known = isinstance(error, EvenoddsError)
        what = str(error) if known else f"{type(error).__name__}: {error}"
        found.findings.append(Finding(named, "fatal", one_line(what, 400)))
        raise _Ended from error


def _made(config: Config, found: Diagnosis, tell: Tell) -> Ground:
    """All that `train` makes before its first evaluation, in the order in which it does."""
    from evenodds.policies.load import load_policy
    from evenodds.run.build import policy_options
    from evenodds.run.engine import prepare_process
    from evenodds.run.making import check_fit, engine_around

    with found.timed("task"):
        folder = _folder(config, found)
        with _stage("sinks", found):
            factories_of(config.run.sinks)
        with _stage("task", found):
            plan = plan_of(config)
        with _stage("objective", found):
            objective = objective_of(config)
    prepare_process()
    with found.timed("model"):
        _require_memory(plan, objective, found)
        with _stage("model", found):
            policy = load_policy(policy_options(config))
        with _stage("fit", found):
            check_fit(policy, plan)
            readable(plan.control, policy, evaluation_budget(config))
        with _stage("sampler", found):
            made = engine_around(policy, plan, objective)
    found.findings += [_told_task(plan), _told_model(made)]
    return Ground(plan, objective, made, folder)


def _require_memory(plan: Plan, objective: Objective, found: Diagnosis) -> None:
    """What does not fit is said before the weights are read, which might end this process."""
    from evenodds.run.memory import plan_ahead
    from evenodds.run.preflight.fits import memory

    try:
        ahead = plan_ahead(plan.config, plan.task, objective.needs_reference)
    except EvenoddsError:  # the same is said better where the model is read
        return
    if not ahead.fits and "memory" not in found.ignored:
        found.findings += [_told_task(plan), memory(ahead)]
        raise _Ended


def _folder(config: Config, found: Diagnosis) -> RunFolder:
    with _stage("folder", found):
        return open_folder(config, datetime.now())


def _told_task(plan: Plan) -> Finding:
    task = plan.task
    tried = "" if plan.bench is None else f"; {len(plan.bench.findings):,} answers tried on it"
    levels = f"{len(task.levels)} level{'s' if len(task.levels) > 1 else ''}"
    what = f"{task.name}, {levels}, verifier {task.verifier_name}{tried}"
    if plan.bench is None:
        return Finding("task", "fine", what)
    if not isinstance(task.verifier, RegisteredVerifier) and not paid_forms(plan.bench):
        what = f"{what}, and no form of a right one was paid"
        why = "a verifier that never pays teaches nothing; or it asks for a form of its own"
        return Finding("task", "warning", what, why, "see `evenodds check` with the same settings")
    return Finding("task", "fine", f"{what}, no wrong one was paid")


def _told_model(made: Engine) -> Finding:
    policy = made.policy
    kind = "an adapter learns" if policy.is_adapter else "all weights learn"
    layers = "fused layers" if policy.fused is not None else "layers of its own"
    dtype = str(policy.model.dtype).removeprefix("torch.")
    return Finding(
        "model",
        "fine",
        f"{policy.name}, {policy.size / 1e6:,.3g} M parameters in {dtype} on "
        f"{policy.device.type}, {layers}; {kind}",
    )
