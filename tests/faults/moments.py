"""A sitting at a run that ends at a chosen moment: inside a step, between two, or in an evaluation.

Installed in a child, which dies of it; so nothing has to be put back.
"""

from __future__ import annotations

import os
import random
import signal
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import torch

from evenodds.errors import RunError

PLACES = {  # where a moment may lie -> the module and what is called there
    "sampling": ("evenodds.run.timing", "_TimedSampler", "sample"),
    "judging": ("evenodds.run.timing", "_TimedJudging", "verdicts"),
    "pass": ("evenodds.run.session", "TorchLearner", "_step"),
    "recording": ("evenodds.run.session", "Session", "record"),
    "writing": ("evenodds.run.session", "RunWriter", "step"),
    "finishing": ("evenodds.run.session", "Session", "finish"),
    "saving": ("evenodds.run.session", "Session", "save"),
    "evaluating": ("evenodds.run.measuring", "Measuring", "on_the_way"),
}


@dataclass(frozen=True)
class Moment:
    """how: kill (-9), fail (an error of the run) or stop (SIGINT), in a step, before a call there.

    where: one of `PLACES`. nth: which call of it in the step, from 1: pass 2 is the second pass
    over a batch, sampling 2 the first refill. after: behind the call instead.
    """

    step: int
    where: str
    how: str
    nth: int = 1
    after: bool = False

    def __str__(self) -> str:
        place = f"{self.where} {self.nth}" if self.nth > 1 else self.where
        return f"{self.how} {'after' if self.after else 'at'} {place} of step {self.step}"

    @property
    def code(self) -> int:
        return {"kill": -signal.SIGKILL, "fail": 1, "stop": 130}[self.how]


HOUR = 3600.0  # of an odd run's clock at its start, so that a clock which begins anew is seen
UNJUDGED, SKIPPED = (6,), (5, 7)  # steps of an odd run: its verifier fails, its gradient is NaN


def install(moment: Moment | None, seed: int, odd: bool = False) -> None:
    """What is drawn from a global generator by mistake shows: each sitting has it elsewhere.

    odd: with the steps that only a run in trouble has, whose counts it must remember.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    _watch_steps()
    if odd:
        _make_odd()
    if moment is not None:
        _at(moment)


_step = {"number": 0, "calls": 0}


def _watch_steps() -> None:
    from evenodds.run.session import Session

    inner = Session.step

    @wraps(inner)
    def step(self: Session, before: Any) -> Any:
        _step.update(number=before.step + 1, calls=0)
        return inner(self, before)

    Session.step = step


def _at(moment: Moment) -> None:
    from importlib import import_module

    module, kind, name = PLACES[moment.where]
    owner = getattr(import_module(module), kind)
    inner = getattr(owner, name)

    @wraps(inner)
    def called(*given: Any, **named: Any) -> Any:
        told = moment.where in (
            "writing",
            "evaluating",
        )  # behind the step, or before it in a sitting
        number = given[1] if told else _step["number"]
        _step["calls"] += number == moment.step
        now = (number, _step["calls"]) == (moment.step, moment.nth)
        if now and not moment.after:
            _end(moment)
        found = inner(*given, **named)
        if now and moment.after:
            _end(moment)
        return found

    setattr(owner, name, called)


def _make_odd() -> None:
    from evenodds.domain import Status, Verdict
    from evenodds.finite import AFTER, Fault
    from evenodds.run import session, stopping, timing

    stopping.Clock.__init__.__defaults__ = (HOUR, *stopping.Clock.__init__.__defaults__[1:])
    judged, passed = timing._TimedJudging.verdicts, session.TorchLearner._step

    def verdicts(self: Any, rollouts: Any) -> Any:
        found = judged(self, rollouts)
        if _step["number"] not in UNJUDGED:
            return found
        return [[Verdict(0.0, Status.ERROR, note="down") for _ in row] for row in found]

    def step(self: Any, *given: Any) -> Any:
        done = passed(self, *given) if _step["number"] not in SKIPPED else None
        return done or Fault(*AFTER["slope"])

    timing._TimedJudging.verdicts = verdicts
    session.TorchLearner._step = step


def _end(moment: Moment) -> None:
    if moment.how == "fail":
        raise RunError("a failure that was planned.")
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "stop": signal.SIGINT}[moment.how])
