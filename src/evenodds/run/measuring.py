"""The evaluations of a run: before, after, and a few held-out problems on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from evenodds.domain import Prompt, as_text
from evenodds.errors import RunError
from evenodds.evaluation import Control, EvaluationSettings, evaluate
from evenodds.judge import Judge, WorkerJudge
from evenodds.records import answer_table
from evenodds.report.terminal import View
from evenodds.run.build import Plan, evaluation_settings, judge_options
from evenodds.run.control import opened_control
from evenodds.run.on_the_way import (
    expected_seconds,
    heldout_metrics,
    is_due,
    settings_on_the_way,
    told,
    trained_levels,
)
from evenodds.run.writer import RunWriter
from evenodds.sampling.native import NativeSampler

TAIL_SECONDS = 4.0  # saving the model and writing the report
RESERVE = 1.5  # an evaluation may take this many times the one before: answers grow


@dataclass
class Measuring:
    """Asks the policy held-out problems, and writes what was found.

    audit: a second judge of the same answers. leave: raises where a signal came. render: the text
    that a prompt is put as. base: the record of the first evaluation. seconds: that the last whole
    evaluation took; way_seconds: the longest one on the way.
    """

    plan: Plan
    policy: str
    sampler: NativeSampler
    judge: Judge
    audit: Judge | None
    writer: RunWriter
    view: View
    leave: Callable[[], None]
    render: Callable[[Prompt], str] = as_text
    base: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 0.0
    way_seconds: float | None = None

    def whole(self, name: str, title: str) -> dict[str, Any]:
        """All held-out problems that are asked for; the record is written and returned."""
        settings = evaluation_settings(self.plan.config, self.plan.task)
        options = judge_options(self.plan.config)
        with opened_control(self.plan.config, self.plan.control, settings, options) as control:
            record = self._evaluated(name, title, settings, control)
        self.seconds = record["seconds"]
        return record

    def on_the_way(self, step: int, line: Mapping[str, Any]) -> dict[str, float]:
        """The metrics of an evaluation after this step; empty where none is due.

        line: the step's metrics, which say what levels were trained on so far.
        """
        config, task = self.plan.config, self.plan.task
        if not is_due(config, step):
            return {}
        name, title = f"step-{step:06d}", f"evaluating after step {step}"
        record = self._evaluated(name, title, settings_on_the_way(config, task))
        self.way_seconds = max(self.way_seconds or 0.0, record["seconds"])
        found = heldout_metrics(self.base, record, trained_levels(line))
        self.view.note(told(step, found))
        return {**found, "time/evaluation": record["seconds"]}

    def next_seconds(self, step: int) -> float:
        """Seconds to keep for the evaluation behind the next step; 0 where none is due."""
        if not is_due(self.plan.config, step + 1):
            return 0.0
        first = expected_seconds(self.plan.config, self.seconds)
        return RESERVE * (first if self.way_seconds is None else self.way_seconds)

    def _evaluated(
        self, name: str, title: str, settings: EvaluationSettings, control: Control | None = None
    ) -> dict[str, Any]:
        """control: a task outside of what is learned; evaluations on the way have none."""
        started = time.monotonic()
        if control is not None and isinstance(control.judge, WorkerJudge):
            control.judge.tick = self.leave
        with self._told(title) as phase:
            found = evaluate(
                self.policy,
                self.sampler,
                self.judge,
                self.plan.task,
                settings,
                audit=self.audit,
                control=control,
                control_note=self.plan.control.note,
                canaries=self.plan.evidence.prompts,
                phase=phase,
            )
        if found.judged() == 0:
            raise RunError(f"no answer could be judged: {found.first_note}. Mend the verifier.")
        record = {**found.to_dict(), "seconds": time.monotonic() - started}
        self.writer.evaluation(name, record, answer_table(found, self.render))
        return record

    @contextmanager
    def _told(self, title: str) -> Generator[Callable[[str], None]]:
        """Progress of what is sampled is shown under a title; a signal leaves it.

        Yields what is called with the kind of answers that come next, which the title then names.
        """
        shown = title

        def begin(what: str) -> None:
            nonlocal shown
            shown = f"{title}, {what}"

        def tell(done: int, total: int) -> None:
            self.leave()
            self.view.phase(shown, done, total)

        before, self.sampler.progress = self.sampler.progress, tell
        try:
            yield begin
        finally:
            self.sampler.progress = before
