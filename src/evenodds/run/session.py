"""One sitting at a run: the tools, the records, and what is done between two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evenodds import durable
from evenodds.alarms import Alarm
from evenodds.domain import Problem
from evenodds.errors import EvenoddsError, NotFinite, RunError
from evenodds.judge import Judge, WorkerJudge
from evenodds.judge.chance import ChanceJudge
from evenodds.learner import TorchLearner
from evenodds.machine import peak_memory_mb, usable_cores
from evenodds.objectives import Objective
from evenodds.policies import Policy
from evenodds.records import Line, group_line, rollout_table
from evenodds.reference import TorchReference
from evenodds.report.card import write_card
from evenodds.report.plain import by_coin
from evenodds.report.terminal import Sample, View
from evenodds.run import checkpoint, sealed
from evenodds.run.as_before import changed, require_same_base
from evenodds.run.audit import examiner_of
from evenodds.run.background import Background, Job
from evenodds.run.build import (
    Plan,
    bonus_of,
    learner_options,
    limits_of,
    payer_of,
    started,
)
from evenodds.run.engine import base_mark, engine_facts
from evenodds.run.folder import PREFIX, RunFolder
from evenodds.run.lookout import Lookout, drop_after
from evenodds.run.measuring import RESERVE, TAIL_SECONDS, Measuring
from evenodds.run.memory import MemoryPlan
from evenodds.run.records import step_metrics
from evenodds.run.saved import Progress, Saved, read_saved_state
from evenodds.run.stopping import Clock, Interrupted, Interrupts
from evenodds.run.timing import Stopwatch, timed
from evenodds.run.writer import RunWriter
from evenodds.sampling.native import NativeSampler
from evenodds.sinks import Outlets
from evenodds.step import State, StepConfig, StepReport, Tools, train_step


@dataclass
class Session:
    """plan and policy: what runs. folder: where it is written. view: who is told.

    audit: a second judge of the same answers, where the run has one.
    pending: the line of a step whose evaluation is not made yet; no line is written before it is.
    damaged: evaluations on the way that are not as they were written.
    """

    plan: Plan
    policy: Policy
    memory: MemoryPlan | None
    sampler: NativeSampler
    judge: Judge
    objective: Objective
    folder: RunFolder
    view: View
    clock: Clock
    interrupts: Interrupts
    audit: Judge | None = None
    watch: Stopwatch = field(default_factory=Stopwatch)
    background: Background = field(default_factory=Background)
    sinks: Outlets = field(default_factory=lambda: Outlets({}, print))
    slowest: float = 0.0
    pending: dict[str, Any] | None = None
    damaged: Sequence[durable.Fault] = ()
    sample: Sample | None = None
    told_unjudged: bool = False
    whole: int | None = 0  # the learner's updates after the last recorded step; None: in between

    def __post_init__(self) -> None:
        config = self.plan.config
        self.base = base_mark(self.policy)
        self.writer = RunWriter(self.folder)
        self.log_sums = sealed.LogSums(self.folder)
        self.lookout = Lookout(self.plan.watch, self.view.note)
        self.measuring = Measuring(
            self.plan,
            self.policy.name,
            self.sampler,
            self.judge,
            self.audit,
            self.writer,
            self.view,
            self.interrupts.leave_if_asked,
            self.policy.codec.render,
        )
        self.learner = TorchLearner(self.policy, learner_options(config, self.policy, self.memory))
        for judge in (self.judge, self.audit):
            if isinstance(judge, WorkerJudge):  # a signal must not wait for what hangs
                judge.tick = self.interrupts.leave_if_asked
        if isinstance(self.judge, WorkerJudge):
            is_free = usable_cores() > torch.get_num_threads()  # a core that no sampler uses
            self.judge.early = is_free or self.policy.device.type != "cpu"
        paying = ChanceJudge() if config.run.random_reward else self.judge
        evidence = self.plan.evidence
        self.examiner = examiner_of(config, evidence, self.judge, self.audit, self.watch)
        tools = Tools(self.sampler, paying, self.learner, self.reference(), self.examiner)
        self.tools = timed(tools, self.watch)
        self.step_config = StepConfig(
            groups=config.sampling.groups,
            group_size=config.sampling.group_size,
            limits=limits_of(config, self.plan.task),
            objective=self.objective,
            rounds=config.sampling.rounds,
        )

    def reference(self) -> TorchReference | None:
        """The policy as it is before anything is learned or restored, where the objective asks."""
        if not self.objective.needs_reference:
            return None
        return TorchReference(self.policy, self.learner.options.micro_batch_tokens)

    def first_state(self, base: Mapping[str, Any]) -> State:
        config = self.plan.config
        curriculum = started(self.plan.curriculum, config, base)
        return State(curriculum, seed=config.run.seed, bonus=bonus_of(config, self.objective))

    def restore(self, base: Mapping[str, Any]) -> State:
        """The state of the newest sound checkpoint, or the first state where there is none."""
        if self.policy.is_adapter or self.objective.needs_reference:
            require_same_base(self.plan.sittings, self.base, self.folder.path)
        saved, told = self._newest()
        if saved is None:
            self.writer.metrics.truncate_to(0)
            self._drop_after(0, 0)
            return self.first_state(base)
        state = checkpoint.load(saved, self.plan.task, self.learner, self.policy)
        if gone := sealed.missing_rollouts(self.folder, saved):
            self.view.note(gone)
        if not told:  # a kill behind a commit may have kept its pruning from being done
            durable.prune(self.folder.checkpoints, PREFIX, self.plan.config.run.keep)
        self.clock.before = saved.progress.elapsed
        sealed.cut_back(self.folder, saved.progress.logs)
        self.pending = saved.progress.pending
        self._drop_after(state.step, state.step - (self.pending is not None))
        self.lookout.resume(self.folder.metrics)
        self.sampler.load(self.learner.weights(), state.version)
        self.whole = self.learner.updates
        return replace(state, skips=state.skips.once_more())

    def _newest(self) -> tuple[Saved | None, list[str]]:
        """The newest sound checkpoint, None where none was made; and what was told on the way.

        Raises `RunError` where there are some and none is sound: to start over would overwrite
        what may yet be saved.
        """
        read: dict[Path, Saved] = {}

        def record_fault(folder: Path) -> str:
            """What is wrong with the records that it stands on: then an older one may do."""
            read[folder] = read_saved_state(folder)
            fault = sealed.fault_at(self.folder, read[folder], self.damaged)
            return fault and f"{folder.name} stands on it: {fault}"

        folders, told = durable.valid_folders(self.folder.checkpoints, PREFIX, 1, record_fault)
        if told and not folders:
            raise RunError(
                f"no checkpoint is sound: {told[0]} Restore what is damaged, or start another run."
            )
        for line in told:
            self.view.note(line)
        return (read[folders[0]] if folders else None), told

    def _drop_after(self, step: int, line: int) -> None:
        """Remove what belongs to steps that are taken again. line: the last step that has one."""
        self.writer.drop_rollouts_after(step)
        self.writer.drop_evaluations_after(line)
        drop_after(self.folder.alarms, line)

    @property
    def threads(self) -> int:
        return torch.get_num_threads()

    @property
    def reserve(self) -> float:
        """Seconds to keep for one more step, the second evaluation, and what is written last."""
        return RESERVE * self.measuring.seconds + TAIL_SECONDS + self.slowest

    def goes_on(self, state: State) -> bool:
        """Whether there is a step left to take, time for it, no signal and no alarm that stops."""
        run = self.plan.config.run
        more = run.steps is None or state.step < run.steps
        ended = self.interrupts.received or self.lookout.stopping
        return (
            more
            and not ended
            and self.clock.has(self.reserve + self.measuring.next_seconds(state.step))
        )

    def loop(self, state: State) -> State:
        """Steps until there are enough of them, the time is up, or a signal or an alarm stops them.

        What was reached is saved, also where a step fails or is left by a signal while it samples:
        until its update, a step has changed nothing. One that fails later, in the second of two
        passes say, leaves weights of no step at all, so nothing is saved then. A signal in an
        evaluation on the way leaves a step whose line is still to come: it is saved with it. Only
        a second signal leaves at once.
        """
        saved = None if self.pending else state.step
        facts = {**engine_facts(self.policy, self.memory), "base": self.base}
        if state.step and (told := changed(self.plan.sittings, facts)):
            self.view.note(told)
        self.writer.engine(facts, state.step)
        self.sampler.progress = lambda done, total: self.interrupts.leave_if_asked()
        try:
            self.finish(state)  # what a signal left open in the sitting before
            while self.goes_on(state):
                state = self.step(state)
                self.finish(state)
                if state.step % self.plan.config.run.save_every == 0:
                    self.save(state)
                    saved = state.step
                state.skips.require()
        except Interrupted:
            pass
        except Exception as error:
            self._failed(state, error)
            if self.whole == self.learner.updates:
                self._keep(state, saved)
            else:
                self.background.settle()
            raise
        finally:
            self.sampler.progress = None
        self._keep(state, saved)
        return state

    def _failed(self, state: State, error: Exception) -> None:
        """An update that is not finite is an alarm too: its row would have been the next."""
        if isinstance(error, NotFinite) and not self.pending:
            self._observed({"step": state.step + 1, "loss": None})

    def _keep(self, state: State, saved: int | None) -> None:
        """Save what is not saved, and wait until all that was handed over is on the disk."""
        if state.step != saved:
            self.save(state)
        self.background.settle()

    def step(self, before: State) -> State:
        """One training step with its rollouts; `finish` writes its line."""
        started = self.clock.elapsed
        self.examiner.step = before.step + 1
        state, report = train_step(before, self.tools, self.step_config)
        self.whole = None
        self.record(before, state, report, started)
        self.whole = self.learner.updates
        self.slowest = max(self.slowest, self.clock.elapsed - started)
        self.tell_unjudged(report)
        return state

    def finish(self, state: State) -> None:
        """The line of the step, once its evaluation is made, with the alarms that begin with it."""
        if self.pending is None:
            return
        line = {**self.pending, **self.measuring.on_the_way(state.step, self.pending)}
        self._observed(line)
        line["alarms"] = len(self.lookout.watch.active)
        self.pending = None
        self.background.do(lambda: self.writer.metrics.append(line))
        self.sinks.log(state.step, line)
        run, elapsed = self.plan.config.run, self.clock.elapsed
        shown = by_coin(line, self.sample) if run.random_reward else (line, self.sample)
        self.view.step(state.step, run.steps, elapsed, run.max_time, *shown)

    def _observed(self, line: Mapping[str, Any]) -> None:
        """Tell and write the alarms that begin with a row."""

        def write(alarm: Alarm) -> Job:
            return lambda: self.writer.alarms.append(alarm.to_dict())

        for alarm in self.lookout.observe(line):
            self.background.do(write(alarm))

    def tell_unjudged(self, report: StepReport) -> None:
        """Say once why an answer could not be judged; how many there are is in every line."""
        every = [verdict for group in report.groups for verdict in group.verdicts]
        missed = [verdict for verdict in every if not verdict.is_judged]
        if missed and not self.told_unjudged:
            self.told_unjudged = True
            counts = f"{len(missed)} of {len(every)} answers of this step could not be judged"
            self.view.note(f"{counts} and are left out; the first: {missed[0].note}")

    def record(self, before: State, state: State, report: StepReport, started: float) -> None:
        """Hand over the step's rollouts, and leave its line to `finish`."""
        groups = group_line(state.step, report, self.examiner.verdicts)
        with self.watch.measure("write"):  # which waits only where the disk lags behind
            self.background.do(self._rollouts(state.step, report, groups))
        metrics = step_metrics(before, state, report, groups)
        metrics |= self.examiner.metrics(report.groups)
        seconds = self.clock.elapsed - started
        clock = {
            **self.watch.lap(),
            "time/step": seconds,
            "time/elapsed": self.clock.elapsed,
            "time/tokens_per_second": (state.tokens - before.tokens) / max(seconds, 1e-9),
            "time/memory_mb": peak_memory_mb(),
        }
        self.pending = {**metrics, **clock}
        self.sample = sample_of(report, state.step)

    def _rollouts(self, step: int, report: StepReport, groups: Line) -> Job:
        name, audit = payer_of(self.plan.config, self.plan.task), self.examiner.verdicts
        prompts = [self.policy.codec.render(group.problem.prompt) for group in report.groups]

        def write() -> None:
            table = rollout_table(step, report, name, prompts, audit)
            self.writer.step(step, table, groups)

        return write

    def save(self, state: State) -> None:
        """A checkpoint: the run waits until weights and moments are written down, and goes on."""
        self.background.check()
        parent, keep = self.folder.checkpoints, self.plan.config.run.keep
        draft = checkpoint.draft(parent, state, self.learner, self.policy)
        elapsed, pending = self.clock.elapsed, self.pending

        def commit() -> None:  # behind the lines of all steps before it
            serial = self.writer.seals.serial
            progress = Progress(elapsed, self.log_sums.now(), pending, serial)
            checkpoint.commit(draft, progress, keep)

        self.background.do(commit)

    def close(self) -> None:
        """End the threads that write, and clear away the checkpoints that they did not get to."""
        self.sinks.close()
        if self.background.close():
            with suppress(RunError):  # they are harmless, and go at the next start
                durable.recover(self.folder.checkpoints)

    def save_model(self) -> None:
        """The trained policy as an ordinary folder, replacing an earlier one of this run.

        Its card is made from the run's records and sealed with it; where they cannot be read, the
        short card that the policy writes stays.
        """

        self.learner.guard.require({})  # a weight that broke since the last checkpoint

        def fill(folder: Path) -> None:
            self.policy.save(folder)
            with suppress(ValueError, EvenoddsError):
                write_card(self.folder.path, folder)

        durable.commit_folder(self.folder.model, fill)


def sample_of(report: StepReport, step: int) -> Sample | None:
    """One answer to show: of a group that has signal where there is one."""
    places = [p for p, group in enumerate(report.groups) if group.is_informative]
    place = (places or list(range(len(report.groups))))[step % max(1, len(places) or 1)]
    group = report.groups[place]
    answer = int(np.random.default_rng(step).integers(len(group.rollouts)))
    verdict = group.verdicts[answer]
    status = str(verdict.status)
    return shown(group.problem), group.rollouts[answer].text, status, group.problem.answer


def shown(problem: Problem) -> str:
    """The question itself, without worked examples or the marks of a chat template."""
    if isinstance(problem.prompt, str):
        return problem.prompt.strip().splitlines()[-1] if problem.prompt.strip() else ""
    return problem.prompt[-1]["content"]
