"""Whether a run goes on, how far it is, and how long it will take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from evenodds.records.holder import where_held
from evenodds.report.record import RunRecord
from evenodds.report.series import is_number
from evenodds.report.signs import raised
from evenodds.report.text import duration, shortened

RUNNING, FINISHED, STOPPED, ELSEWHERE = "running", "finished", "stopped", "held elsewhere"
ALARM = 60  # characters of an alarm's name
RECENT = 20  # steps that the speed is taken from


@dataclass(frozen=True)
class State:
    """kind: running, finished, stopped, or held by a process of another machine.

    steps: planned ones, where they are; elapsed: seconds of training up to the last step; left:
    seconds until training ends, where that can be told; doing: what a running one is at. alarm: the
    one that stopped it, safe to show.
    """

    kind: str
    step: int
    steps: int | None
    elapsed: float | None
    left: float | None
    doing: str = ""
    alarm: str = ""

    @property
    def is_live(self) -> bool:
        return self.kind in (RUNNING, ELSEWHERE)

    @property
    def words(self) -> str:
        return state_words(self.kind, self.alarm)

    @property
    def share(self) -> float | None:
        """How much of the training is done, in [0, 1], by steps or by time."""
        if self.steps:
            return min(1.0, self.step / self.steps)
        if self.left is not None and self.elapsed:
            return self.elapsed / (self.elapsed + self.left)
        return None


def state_of(run: RunRecord) -> State:
    """What a run folder says of itself at this moment. Nothing is written and no lock is taken."""
    last = run.metrics[-1] if run.metrics else {}
    elapsed = last.get("time/elapsed")
    elapsed = float(elapsed) if is_number(elapsed) else None
    steps = run.setting("run", "steps")
    steps = steps if isinstance(steps, int) and steps > 0 else None
    step = int(last.get("step", 0))
    ended = FINISHED if run.final is not None else STOPPED
    kind = {"here": RUNNING, "elsewhere": ELSEWHERE}.get(where_held(run.folder), ended)
    state = State(kind, step, steps, elapsed, None)
    if not state.is_live:
        alarm = stopped_by(run.alarms, step, steps)
        return replace(state, kind=STOPPED if alarm else kind, alarm=alarm)
    left = _left(run, state)
    return State(kind, state.step, steps, elapsed, left, _doing(run, state))


def stopped_by(alarms: Iterable[Mapping[str, Any]], step: int, steps: int | None) -> str:
    """The alarm that ended a run after this step, before its planned ones; empty where none did.

    A run that was taken up again, and went on behind the alarm, was not ended by it.
    """
    if steps is not None and step >= steps:
        return ""
    found = [raised(row) for row in alarms]
    ended = [one.name for one in found if one.stops and one.step is not None and one.step >= step]
    return shortened(ended[-1], ALARM) if ended else ""


def state_words(kind: str, alarm: str) -> str:
    return f"stopped by an alarm: {alarm}" if alarm else kind


def _doing(run: RunRecord, state: State) -> str:
    if not run.metrics:
        return "measuring the base" if run.base is None else "taking the first step"
    ended = state.steps is not None and state.step >= state.steps
    return "measuring what was learned" if ended else "training"


def _left(run: RunRecord, state: State) -> float | None:
    """Seconds until the planned steps or the time are used up, whichever comes first."""
    ends: list[float] = []
    pace = _pace(run.metrics[-RECENT:])
    if state.steps and pace is not None:
        ends.append((state.steps - state.step) * pace)
    most = run.setting("run", "max_time")
    if is_number(most) and state.elapsed is not None:
        ends.append(float(most) - state.elapsed)
    return max(0.0, min(ends)) if ends else None


def _pace(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Seconds a step, by the newest of them."""
    times = [float(row["time/step"]) for row in rows if is_number(row.get("time/step"))]
    return median(times) if times else None


def time_words(state: State) -> str:
    """`step 12 of 30 · 0:14 so far · about 0:20 left`."""
    steps = f"step {state.step:,}" + (f" of {state.steps:,}" if state.steps else "")
    parts = [steps] if state.step or state.is_live else ["no step yet"]
    if state.elapsed is not None:
        parts.append(f"{duration(state.elapsed)} " + ("so far" if state.is_live else "of training"))
    if state.left is not None:
        parts.append(f"about {duration(state.left)} left")
    return " · ".join(parts)
