"""The run: evaluate the base, train, evaluate again, and write it all down."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from evenodds.durable import recover, told_below
from evenodds.errors import EvenoddsError, RunError, sentences
from evenodds.judge import Judge, open_judge
from evenodds.machine import explain, prepare_environment, system_reason
from evenodds.records.lines import read_object
from evenodds.report import write_report
from evenodds.report.again import go_on, is_from_python
from evenodds.report.comparison import Comparison, compare
from evenodds.report.conclusion import Conclusion, conclude
from evenodds.report.record import read_run
from evenodds.report.terminal import View, make_view
from evenodds.run.as_before import threads_before
from evenodds.run.build import (
    Plan,
    evaluation_budget,
    judge_options,
    objective_of,
    plan_of,
    title_of,
)
from evenodds.run.config import Config, to_toml
from evenodds.run.control import readable
from evenodds.run.evaluations import read_evaluation
from evenodds.run.folder import RunFolder, require_room
from evenodds.run.going_on import Seen, held, open_folder, seen
from evenodds.run.lock import require_free
from evenodds.run.making import Engine, native_engine
from evenodds.run.preflight import start as preflight
from evenodds.run.preflight.ground import Ground
from evenodds.run.sealed import altered, examined
from evenodds.run.stopping import Clock, Interrupted, Interrupts
from evenodds.run.trained import fault_of_model
from evenodds.sinks import Outlets, RunFacts, factories_of, open_sinks
from evenodds.tasks import PRESETS, TASKS, Task

if TYPE_CHECKING:
    from evenodds.objectives import Objective
    from evenodds.run.session import Session
    from evenodds.step import State


@dataclass(frozen=True)
class Result:
    """What a run has to say. exit_code: 130 or 143 after a signal, 1 by an alarm, else 0.

    conclusion: the report's own; the comparison alone may say better where the run is hacked. None
    where the run did not end.
    """

    folder: Path
    steps: int
    exit_code: int = 0
    comparison: Comparison | None = None
    conclusion: Conclusion | None = None

    def __repr__(self) -> str:
        told = "no conclusion: it did not end"
        if self.conclusion is not None:
            told = shorten(f"{self.conclusion.kind}: {self.conclusion.sentence}", 120)
        return f"Result({str(self.folder)!r}, steps={self.steps}, exit={self.exit_code}, {told})"


def train(
    config: Config,
    *,
    task: Task | None = None,
    view: View | None = None,
    argv: Sequence[str] = (),
    engine: Callable[[Plan, Objective], Engine] | None = None,
) -> Result:
    """Train as `config` says, in a new run folder or going on in the one that it names.

    engine: makes what samples and learns, where `policy.name` names no model that can be loaded.
    Raises `UsageError` before anything is written if something named cannot be used.
    """
    clock = Clock(config.run.max_time)
    factories_of(config.run.sinks)  # whose mistakes are to be found at once
    folder = open_folder(config, datetime.now())
    before = seen(folder)
    require_free(folder.path)  # a run that another process holds is refused at once
    plan = plan_of(config, task, folder.checker)
    with ExitStack() as opened:
        opened.enter_context(told_below(folder.path))
        judges = _judges(plan, opened)
        return _train(plan, judges, (folder, before), clock, view, argv, engine or native_engine)


def _judges(plan: Plan, opened: ExitStack) -> tuple[Judge, Judge | None]:
    """The judge that pays, and the one that audits it, where there is one."""
    options = judge_options(plan.config)
    judge = opened.enter_context(open_judge(plan.task.verifier, options))
    audit = plan.evidence.audit
    return judge, None if audit is None else opened.enter_context(open_judge(audit, options))


def _train(
    plan: Plan,
    judges: tuple[Judge, Judge | None],
    found: tuple[RunFolder, Seen],
    clock: Clock,
    view: View | None,
    argv: Sequence[str],
    make: Callable[[Plan, Objective], Engine],
) -> Result:
    """The judge's processes get ready while torch and the policy are loaded."""
    prepare_environment()
    folder, before = found
    objective = objective_of(plan.config)  # from here on torch is there
    from evenodds.learner import bytes_learned
    from evenodds.run.engine import prepare_process, read_sittings
    from evenodds.run.session import Session

    plan = replace(plan, sittings=tuple(read_sittings(folder.engine)))
    prepare_process(threads_before(plan.sittings), plan.config.run.repeatable)
    shown = view or make_view(sys.stderr)
    made = make(plan, objective)
    budget = evaluation_budget(plan.config)
    plan = replace(plan, control=readable(plan.control, made.policy, budget))
    require_room(folder, bytes_learned(made.policy), plan.config.run.keep, plan.config.run.steps)
    warned = preflight.before(Ground(plan, objective, made, folder))
    with Interrupts() as interrupts, held(plan.config, folder, before) as folder:
        session = Session(
            plan,
            made.policy,
            made.memory,
            made.sampler,
            judges[0],
            objective,
            folder,
            shown,
            clock,
            interrupts,
            judges[1],
        )
        try:
            return _run(session, argv, warned)
        finally:
            session.close()
            shown.close()


def _title(session: Session) -> tuple[str, list[str]]:
    config, policy = session.plan.config, session.policy
    kind = f"LoRA rank {config.policy.rank}" if policy.is_adapter else "all weights"
    by_chance = " from random rewards (control arm)" if config.run.random_reward else ""
    return f"{config.policy.name} learns {title_of(config, session.plan.task)}{by_chance}", [
        f"{policy.size / 1e6:.1f} M parameters, {kind}, {policy.device.type}, "
        f"{config.objective.recipe}, {config.sampling.groups} problems × "
        f"{config.sampling.group_size} answers a step",
        *_levels_of(session.plan.task),
        f"run folder: {session.folder.path}",
    ]


def _levels_of(task: Task) -> list[str]:
    """How the levels of a person's data are ordered; those of the house's tasks are known."""
    if (task.name in TASKS and task.name not in PRESETS) or len(task.levels) == 1:
        return []
    return [f"levels, easiest first: {', '.join(task.levels[:12])}"]


def _facts(session: Session) -> dict[str, object]:
    """What the environment passport cannot see by itself."""
    policy = session.policy
    return {
        "device": str(policy.device),
        "dtype": str(policy.model.dtype).removeprefix("torch."),
        "threads": session.threads,
        "seed": session.plan.config.run.seed,
        "random_reward": session.plan.config.run.random_reward,
        "parameters": policy.size,
        "trainable": sum(p.numel() for p in policy.trainable().values()),
    }


def _open(session: Session, argv: Sequence[str]) -> None:
    """Write the folder's first records, or the limits with which a run goes on."""
    config, folder = session.plan.config, session.folder
    plan, facts = session.plan, _facts(session)
    made = (session.objective, plan.bench, plan.evidence.audit)
    session.writer.begin(config, plan.task, argv, facts, *made)
    text = to_toml(config)
    if folder.config.read_text(encoding="utf-8") != text:
        session.writer.config(config)


def _sinks(session: Session, title: str) -> Outlets:
    """Where the metrics also go. Raises `UsageError` where one of them cannot be opened."""
    config, folder = session.plan.config, session.folder.path
    facts = RunFacts(folder.name, folder, title, config.model_dump())
    return Outlets(open_sinks(factories_of(config.run.sinks), facts), session.view.note)


def _gains(comparison: Comparison) -> dict[str, float]:
    """What the run came to, for sinks: shares of held-out problems, paired differences."""
    row = comparison.overall
    rates = {"heldout/before": row.before.sampled, "heldout/after": row.after.sampled}
    found = {name: rate.mean for name, rate in rates.items()}
    gain = {f"heldout/gain_{end}": getattr(row.gain, end) for end in ("mean", "low", "high")}
    return found | gain


def _base(session: Session) -> dict[str, Any]:
    """The evaluation of the base: read where it was made already."""
    recorded = _read(session.folder.evaluation("base"))
    found = recorded or session.measuring.whole("base", "evaluating the base")
    session.measuring.seconds = found["seconds"]
    if not read_object(session.folder.data).get("initial_solve_rates"):  # or killed right here
        template = getattr(session.policy.codec.tokenizer, "chat_template", None)
        session.writer.data(session.plan, found, template)
    return found


def _read(path: Path) -> dict[str, Any] | None:
    """The record of an evaluation that a run goes on from; None where there is none."""
    if not path.exists():
        return None
    try:
        found = read_evaluation(path)
        return {**found, "seconds": float(found["seconds"]), "settings": found["settings"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        told = sentences(f"{str(path)!r} is damaged: {what}", "Remove it; it is made again")
        raise RunError(told) from None


def _run(session: Session, argv: Sequence[str], warned: Sequence[str]) -> Result:
    """warned: lines of the preflight, which one who goes on was told already."""
    folder = session.folder
    title, lines = _title(session)
    session.view.start(title, lines, session.plan.task.levels)
    going_on = folder.config.exists()
    for parent in folder.written:
        recover(parent)
    if going_on:
        session.damaged = examined(folder, session.view.note)
    _tell(session, () if going_on else warned)
    session.sinks = _sinks(session, title)  # refused before the run has a record
    _open(session, argv)
    try:
        base = _base(session)
    except Interrupted:
        return _stopped(session, 0)
    session.measuring.base = base
    state = session.restore(base) if going_on else session.first_state(base)
    if going_on and not session.goes_on(state) and _is_finished(session):
        return _finished_already(session, state.step)
    if going_on and state.step:
        session.view.note(f"going on after step {state.step}.")
    else:
        _tell(session, preflight.after_base(_ground(session, base)))
    _require_a_step(session, state)
    session.writer.forget_the_end()
    try:
        state = session.loop(state)
        session.interrupts.leave_if_asked()
        final = session.measuring.whole("final", "evaluating the trained policy")
    except Interrupted:
        return _stopped(session, state.step)
    except RunError:
        _report_of_a_failure(session)
        raise
    session.save_model()
    _tell(session, [*altered(folder, session.log_sums)])
    comparison = compare(base, final)
    found = _conclusion(session)
    session.view.table(comparison, found.sentence if found else "")
    session.sinks.summary(_gains(comparison))
    _report(session)
    return Result(folder.path, state.step, _told_of_alarm(session, state.step), comparison, found)


def _tell(session: Session, lines: Sequence[str]) -> None:
    for line in lines:
        session.view.note(line)


def _ground(session: Session, base: Mapping[str, Any]) -> Ground:
    """What the preflight looks at once the base is measured."""
    made = Engine(session.policy, session.sampler, session.memory)
    return Ground(session.plan, session.objective, made, session.folder, base)


def _finished_already(session: Session, step: int) -> Result:
    folder = session.folder
    session.view.note(f"finished already, after step {step}: {folder.report}")
    code = _told_of_alarm(session, step)
    if code == 0:
        session.view.note(_for_more(session, step))
    return Result(folder.path, step, code, None, _conclusion(session))


def _for_more(session: Session, step: int) -> str:
    """How a run that has come to its end goes on: only a larger limit makes it."""
    run, task, folder = session.plan.config.run, session.plan.config.task.name, session.folder.path
    name, value = "steps", 2 * step
    if run.steps is None or step < run.steps:  # the time is what ended it
        name, value = "max_time", round(2 * session.clock.elapsed)
    more = f" and run.{name} {value}"
    if not is_from_python(task):
        more = f" --{name.replace('_', '-')} {value}"
    return f"to go on with it: {go_on(task, str(folder), folder.name)}{more}"


def _told_of_alarm(session: Session, step: int) -> int:
    """The exit code: 1 where an alarm ended the run, which is told with how to go on, else 0."""
    alarm = session.lookout.stopping
    if alarm is None:
        return 0
    session.view.note(
        f"ended after step {step} by the alarm {alarm.name}: {alarm.reason}. {alarm.remedy}. To go "
        f"on all the same: evenodds train --resume {session.folder.path} --alarms.stop none"
    )
    return 1


def _is_finished(session: Session) -> bool:
    """Whether all that a run ends with is there and sound; what is damaged is told of, and made
    again."""
    folder = session.folder
    if not folder.evaluation("final").exists():
        return False
    try:
        _read(folder.evaluation("final"))
    except EvenoddsError as error:
        session.view.note(str(error))
        return False
    if fault := fault_of_model(folder):
        told = fault if folder.model.exists() else "it was ended before its model was there"
        session.view.note(f"{told}; the end of the run is made again.")
    return not fault and folder.report.exists()


def _conclusion(session: Session) -> Conclusion | None:
    """The report's own, so that neither the terminal nor Python can say another one."""
    with suppress(Exception):  # as for the page
        return conclude(read_run(session.folder.path))
    return None


def _report(session: Session) -> None:
    """The page; what went before is safe, so a page that cannot be written ends nothing."""
    path = session.folder.path
    try:
        session.view.note(f"report: {write_report(path)}")
    except Exception as error:
        refused = system_reason(error) is not None
        why = explain(error, session.folder.report) if refused else error
        session.view.note(f"no report: {why} Make it again with: evenodds report {path}")


def _report_of_a_failure(session: Session) -> None:
    """The page with what there is, and why the run ended among its alarms.

    Where it cannot be written either, the line with which the run ends says enough.
    """
    with suppress(Exception):
        session.view.note(f"report: {write_report(session.folder.path)}")


def _require_a_step(session: Session, state: State) -> None:
    """Raise `RunError` where the time does not even suffice for the first step."""
    if state.step or session.interrupts.received or session.goes_on(state):
        return
    needed = session.clock.elapsed + session.reserve + session.measuring.seconds
    raise RunError(
        f"no time is left for a step: run.max_time is {session.clock.limit:g} s, the evaluation of "
        f"the base ended at {session.clock.elapsed:.0f} s, and the second is given "
        f"{session.reserve:.0f} s. Raise --max-time above {needed:.0f}, or lower "
        "--evaluation.problems or --evaluation.samples."
    )


def _stopped(session: Session, step: int) -> Result:
    folder = session.folder.path
    with suppress(Exception):  # the report can be made again
        write_report(folder)
    how = go_on(session.plan.config.task.name, str(folder), folder.name)
    saved = f"after step {step}; it is saved" if step else "before the first step"
    session.view.note(f"stopped {saved}. Go on with: {how}")
    return Result(folder, step, 128 + (session.interrupts.received or 0))
