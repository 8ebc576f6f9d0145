"""The policy, the optimizer and the state of a run as they were before a step, made again.

From the nearest sound checkpoint, or from the start, the steps in between are not sampled again:
their recorded groups go through the real `step.learned`. Records are bit-exact, so the weights are.
What each of these updates says of itself is held against its line of metrics.jsonl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds import durable
from evenodds.domain import Group, Limits
from evenodds.errors import EvenoddsError, RunError
from evenodds.judge import ScriptedJudge
from evenodds.records import RecordedGroup, read_groups, rollout_files
from evenodds.report.record import RunRecord, read_run
from evenodds.run.as_before import threads_before
from evenodds.run.build import (
    Plan,
    bonus_of,
    learner_options,
    limits_of,
    objective_of,
    plan_of,
    started,
)
from evenodds.run.config import make_config, merge, read_saved
from evenodds.run.engine import CHOSEN, engine_facts, prepare_process, read_sittings
from evenodds.run.folder import PREFIX, RunFolder, step_behind

if TYPE_CHECKING:
    from evenodds.learner import TorchLearner, Update
    from evenodds.objectives import Objective
    from evenodds.run.making import Engine
    from evenodds.step import State
    from evenodds.tasks import Task

Making = Callable[..., Any]
NOT_BITS = ("evenodds", "after_step")  # facts of a sitting that change no bit by themselves


@dataclass(frozen=True)
class Departure:
    """The first update on the way that is not what metrics.jsonl says. name: of the metric."""

    step: int
    name: str
    recorded: float | None
    now: float | None


@dataclass
class Ground:
    """Where the run stood before a step. state: before step `state.step + 1`.

    begun: what the weights came from last. again: updates computed since, and compared: how many of
    them had a line to be held against; departure: the first of them that did not say what was
    recorded of it. sittings: what computed, as the run wrote it.
    """

    folder: RunFolder
    plan: Plan
    objective: Objective
    engine: Engine
    learner: TorchLearner
    state: State
    files: Mapping[int, Path]
    record: RunRecord
    metrics: Mapping[int, Mapping[str, Any]]
    sittings: Sequence[Mapping[str, Any]]
    begun: str = "the start"
    again: int = 0
    compared: int = 0
    departure: Departure | None = None
    from_start: bool = False
    on_step: Callable[[], None] = field(default=lambda: None)

    @property
    def limits(self) -> Limits:
        return limits_of(self.plan.config, self.plan.task)

    def sitting(self, step: int) -> Mapping[str, Any]:
        """What computed this step; empty where the run did not write it down."""
        return _before(self.sittings, step)

    def checkpoints(self) -> list[int]:
        """The steps behind which one lies, sound or not."""
        folders = [] if self.from_start else durable.numbered(self.folder.checkpoints, PREFIX)
        return [step_behind(path) for path in folders]

    def recorded(self, step: int) -> list[RecordedGroup]:
        """The groups of a step with the limits that they were drawn within."""
        if step not in self.files:
            raise RunError(
                f"the rollouts of step {step} are not there, so the weights after it cannot be "
                "made again. Choose a rollout of an earlier step, or behind a later checkpoint."
            )
        return read_groups(self.files[step])

    def go_to(self, step: int) -> None:
        """The state before this step, from where it stands or from a nearer checkpoint."""
        if not self.from_start:
            checkpoint = nearest_checkpoint(self.folder, self.state.step, step - 1)
            if checkpoint is not None:
                self._load(checkpoint)
        while self.state.step < step - 1:
            self._follow()
            self.on_step()
        self._sit(step)

    def _load(self, checkpoint: Path) -> None:
        from evenodds.run.checkpoint import load
        from evenodds.run.saved import read_saved_state

        with durable.told(checkpoint):
            saved = read_saved_state(checkpoint)
            self.state = load(saved, self.plan.task, self.learner, self.engine.policy)
        self.engine.sampler.load(self.learner.weights(), self.state.version)
        self.begun = f"the checkpoint of step {self.state.step}"
        self.again, self.compared, self.departure = 0, 0, None

    def _follow(self) -> None:
        """The next step from its record: everything but what was drawn and judged."""
        from evenodds.step import Tools, learned

        step = self.state.step + 1
        self._sit(step)
        objective = self.objective_now()
        groups = [self.exact(recorded) for recorded in self.recorded(step)]
        tools = Tools(self.engine.sampler, ScriptedJudge({}), self.learner)
        self.state, update, passes = self.state.observed(groups), None, self.passes(step)
        if passes:  # as many as then: what was not finite may have been of the machine
            self.learner.options = replace(self.learner.options, passes=passes)
            self.state, update = learned(self.state, groups, tools, objective)
            self.again += 1
        self._compare(step, update)

    def passes(self, step: int) -> int:
        """Optimizer steps that a step took: fewer where one was skipped, none where the first."""
        planned, row = self.plan.config.learner.passes, self.metrics.get(step, {})
        if "fault" not in row:
            return planned
        taken = row.get("passes", 0)
        return taken if isinstance(taken, int) and 0 <= taken <= planned else planned

    def objective_now(self) -> Objective:
        """The objective of the next step, whose entropy coefficient may move."""
        bonus = self.state.bonus
        return bonus.applied(self.objective) if bonus else self.objective

    def exact(self, recorded: RecordedGroup) -> Group:
        """The group with limits as the configuration has them: old files round a temperature."""
        group = recorded.group
        rollouts = [replace(rollout, limits=self.limits) for rollout in group.rollouts]
        return Group(group.problem, rollouts, group.verdicts)

    def _compare(self, step: int, update: Update | None) -> None:
        row = self.metrics.get(step)
        if row is None:
            return
        self.compared += 1
        if self.departure is not None:
            return
        now = dict(update.metrics) if update is not None else {}
        if bool(now) != ("loss" in row):
            self.departure = Departure(step, "loss", row.get("loss"), now.get("loss"))
        for name, value in now.items():
            if self.departure is None and name in row and row[name] not in (value, None):
                self.departure = Departure(step, name, row[name], float(value))

    def _sit(self, step: int) -> None:
        """Compute as that step was computed: threads, rows, and the parts of a batch."""
        import torch

        facts = self.sitting(step)
        threads = threads_before([facts or environment(self.record)])
        if threads not in (None, torch.get_num_threads()):  # products of matrices are cut by them
            torch.set_num_threads(threads)
        if facts.get("rows") is None:
            return
        sampler, options = self.engine.sampler, self.learner.options
        sampler.max_rows, sampler.max_cells = facts["rows"], facts["kv_tokens"]
        if facts["gradient_checkpointing"] != options.gradient_checkpointing:
            raise RunError(
                f"step {step} and the one before it were computed with and without gradient "
                "checkpointing. Replay rollouts of either side by themselves."
            )
        tokens = facts["micro_batch_tokens"]
        self.learner.options = replace(options, micro_batch_tokens=tokens)


def nearest_checkpoint(folder: RunFolder, after: int, until: int) -> Path | None:
    """The newest sound checkpoint of a step in (after, until]; None where there is none."""
    for path in durable.numbered(folder.checkpoints, PREFIX):
        step = step_behind(path)
        if after < step <= until:
            try:
                durable.verify_folder(path)
            except EvenoddsError:
                continue
            return path
    return None


def open_ground(
    run: Path,
    first: int,
    task: Task | None = None,
    make: Making | None = None,
    from_start: bool = False,
) -> Ground:
    """The run before its first step. first: the first step that will be replayed.

    task, make: what the run was given from Python, if anything: `train(config, task=, engine=)`.
    """
    from evenodds.run.making import native_engine

    folder = RunFolder(run)
    config = make_config(merge(read_saved(folder.config), {"check.bench": False}))
    plan = plan_of(config, task)
    objective = objective_of(config)
    record = read_run(run)
    sittings = read_sittings(folder.engine)
    prepare_process(repeatable=config.run.repeatable)
    engine = (make or native_engine)(plan, objective)
    return Ground(
        folder,
        plan,
        objective,
        engine,
        _learner(plan, engine, _before(sittings, first)),
        _first_state(record, plan, objective),
        rollout_files(run),
        record,
        {int(row["step"]): row for row in record.metrics},
        sittings,
        from_start=from_start,
    )


def _before(sittings: Sequence[Mapping[str, Any]], step: int) -> Mapping[str, Any]:
    found = [one for one in sittings if one["after_step"] < step]
    return found[-1] if found else {}


def _learner(plan: Plan, engine: Engine, facts: Mapping[str, Any]) -> TorchLearner:
    """A learner of which nothing was asked yet, in the parts that the run was computed in."""
    from evenodds.learner import TorchLearner

    memory = engine.memory
    if memory is not None and facts.get("rows") is not None:
        memory = replace(memory, **{name: facts[name] for name in CHOSEN})
    return TorchLearner(engine.policy, learner_options(plan.config, engine.policy, memory))


def environment(record: RunRecord) -> Mapping[str, Any]:
    """The environment passport; empty where it is missing or damaged."""
    return record.passports["environment"]


def _first_state(record: RunRecord, plan: Plan, objective: Objective) -> State:
    from evenodds.step import State

    config = plan.config
    if (
        record.base is None
        and config.curriculum.kind == "ladder"
        and config.curriculum.start is None
    ):
        raise RunError(
            "evaluation/base.json is missing or damaged, and the ladder began where it says. "
            "Bring the file back."
        )
    curriculum = started(plan.curriculum, config, record.base or {"levels": []})
    return State(curriculum, seed=config.run.seed, bonus=bonus_of(config, objective))


def differences(ground: Ground, step: int) -> dict[str, tuple[Any, Any]]:
    """What computed the step and what computes now, where these differ, but for our version."""
    facts = ground.sitting(step)
    now = engine_facts(ground.engine.policy, None)
    if not facts:
        passport = environment(ground.record)
        packages = passport.get("packages")
        torch = packages.get("torch") if isinstance(packages, Mapping) else None
        facts = {name: passport.get(name) for name in ("device", "dtype", "threads", "cpu")}
        facts["torch"] = torch and str(torch).partition("+")[0]
        now["torch"] = str(now["torch"]).partition("+")[0]
    return {
        name: (facts[name], value)
        for name, value in now.items()
        if name not in (*NOT_BITS, *CHOSEN) and facts.get(name) not in (None, value)
    }
