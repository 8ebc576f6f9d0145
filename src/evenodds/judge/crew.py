"""The worker processes at work on calls: given work, listened to, ended when their time is over."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from evenodds.domain import Status, Verdict
from evenodds.judge import frames
from evenodds.judge.deadline import Patience
from evenodds.judge.frames import Call
from evenodds.judge.nursery import Nursery
from evenodds.judge.process import Lost, Worker, end, flush, is_gone, received, waited
from evenodds.own import FAILURES, described

START_SECONDS = 300.0  # until a process has imported the verifier; it may load a model
STARTS = 3  # processes in a row that may fail to start
TICK = 0.1  # seconds between looks at processes that may have ended without closing their pipe
AHEAD = 0.02  # seconds of work that a worker holds, so that it need not wait for the next call
MOST_AHEAD = 64


@dataclass
class Round:
    """The calls of one time that a judge was asked, and the verdicts that are there so far.

    bell: a pipe that wakes the one who waits for the workers, for there is something new.
    """

    patience: Patience
    bell: int
    calls: list[Call] = field(default_factory=list[Call])
    queue: deque[int] = field(default_factory=deque[int])
    verdicts: list[list[Verdict] | None] = field(default_factory=list[list[Verdict] | None])
    left: int = 0

    def add(self, call: Call) -> None:
        self.queue.append(len(self.calls))
        self.calls.append(call)
        self.verdicts.append(None)
        self.left += 1

    def settle(self, index: int, verdicts: list[Verdict]) -> None:
        if self.verdicts[index] is None:
            self.verdicts[index] = verdicts
            self.left -= 1

    def fail(self, index: int, status: Status, note: str, seconds: float = 0.0) -> None:
        verdict = Verdict(0.0, status, note=note, seconds=seconds)
        self.settle(index, [verdict] * len(self.calls[index].completions))


@dataclass
class Crew:
    """The processes, and where they come from."""

    nursery: Nursery
    size: int
    workers: list[Worker] = field(default_factory=list[Worker])
    failures: int = 0
    lost: int = 0
    why: str = ""

    def fill(self, wanted: int) -> None:
        """As many as are wanted, and one spare."""
        while len(self.workers) < min(wanted, self.size) + 1:
            try:
                self.workers.append(self.nursery.hire())
            except OSError as error:
                is_gone = isinstance(error, ConnectionError)  # else no pipe, say: another matter
                self.failed(described(error), self.nursery.generation if is_gone else 0)
                return

    def dismiss(self, worker: Worker, patiently: bool = False) -> str:
        self.workers.remove(worker)
        return end(worker, patiently)

    def failed(self, why: str, generation: int = 0) -> None:
        """Count a failure. Those that went down with one template count as one."""
        if generation == 0 or generation != self.lost:
            self.failures += 1
        self.lost, self.why = generation, why

    def dismiss_all(self) -> None:
        for worker in [*self.workers]:
            self.dismiss(worker)


def advance(turn: Round, crew: Crew) -> None:
    """One look at the workers: give, wait, read, and end those whose time is over."""
    crew.fill(turn.left)
    if crew.failures >= STARTS and not any(worker.is_ready for worker in crew.workers):
        _give_up(turn, Status.ERROR, f"no process could load the verifier: {crew.why}")
        return
    if turn.patience.is_spent:
        lost = turn.patience.lost / turn.patience.workers
        _give_up(turn, Status.TIMEOUT, f"not tried: answers before it cost {lost:.0f} s of time")
    _assign(turn, crew)
    for worker in waited(crew.workers, _until_next(crew), turn.bell):
        _read(turn, crew, worker)
    now = time.monotonic()
    for worker in [*crew.workers]:
        _check(turn, crew, worker, now)


def _give_up(turn: Round, status: Status, note: str) -> None:
    """What has not begun gets this verdict."""
    while turn.queue:
        turn.fail(turn.queue.popleft(), status, note)


def _assign(turn: Round, crew: Crew) -> None:
    """Calls to those at work, a little ahead, and to idle ones up to the size of the crew."""
    mean = turn.patience.pace.mean
    ahead = min(MOST_AHEAD, max(1, int(AHEAD / mean))) if mean else 1
    ready = [worker for worker in crew.workers if worker.is_ready]
    busy = [worker for worker in ready if worker.held]
    idle = [worker for worker in ready if not worker.held]
    for worker in [*busy, *idle[: max(0, crew.size - len(busy))]]:
        while turn.queue and len(worker.held) < ahead:
            _give(turn, worker, turn.queue.popleft())
        flush(worker)


def _give(turn: Round, worker: Worker, index: int) -> None:
    try:
        worker.outbox += frames.pack(frames.call_to_json(turn.calls[index]))
    except FAILURES as error:  # an odd object in a column of the data
        turn.fail(index, Status.ERROR, f"the problem cannot be sent: {described(error)}")
        return
    worker.held.append(index)
    if len(worker.held) == 1:
        _begin(turn, worker)


def _begin(turn: Round, worker: Worker) -> None:
    worker.began = time.monotonic()
    worker.deadline = turn.patience.deadline(worker.is_fresh)


def _until_next(crew: Crew) -> float:
    """Seconds until the next deadline, or the next look."""
    now = time.monotonic()
    ends = [worker.began + worker.deadline - now for worker in crew.workers if worker.held]
    return min([TICK, *ends])


def _read(turn: Round, crew: Crew, worker: Worker) -> None:
    try:
        messages = received(worker)
    except Lost:
        _lost(turn, crew, worker)
        return
    for message in messages:
        if not worker.is_ready and isinstance(message, dict):
            _greeted(crew, worker, message)
        elif not _replied(turn, worker, message):
            _lost(turn, crew, worker)
            return


def _greeted(crew: Crew, worker: Worker, message: dict[str, Any]) -> None:
    worker.pid = message.get("ready", 0)
    if worker.is_ready:
        crew.failures = 0
    else:
        crew.failed(str(message.get("failed")))
        crew.dismiss(worker)


def _replied(turn: Round, worker: Worker, message: Any) -> bool:
    """Take the verdicts of the call at work. False for what nobody asked for or is none.

    A verifier can write into the pipes of its own process; no verdict may get out of step by it.
    """
    try:
        verdicts = [frames.verdict_from_json(found) for found in message]
        seconds = sum(verdict.seconds for verdict in verdicts)
        if len(verdicts) != len(turn.calls[worker.held[0]].completions):
            return False
    except (TypeError, ValueError, IndexError):
        return False
    turn.patience.pace.note(seconds, worker.is_fresh)
    turn.settle(worker.held.popleft(), verdicts)
    worker.is_fresh = False
    if worker.held:
        _begin(turn, worker)
    return True


def _lost(turn: Round, crew: Crew, worker: Worker) -> None:
    """A process that ended: the call at work is an error, the others go to other workers."""
    seconds = time.monotonic() - worker.began
    how = crew.dismiss(worker, patiently=True)
    if worker.held:
        turn.fail(worker.held.popleft(), Status.ERROR, how, seconds)
        turn.queue.extendleft(reversed(worker.held))
    elif not worker.is_ready:
        crew.failed(how, worker.generation)


def _check(turn: Round, crew: Crew, worker: Worker, now: float) -> None:
    """End a process whose time is over; find one that ended while others hold its pipe."""
    seconds = now - worker.began
    if worker.held and seconds > worker.deadline:
        crew.dismiss(worker)
        turn.patience.ran_out(seconds)
        note = f"no verdict within {worker.deadline:.3g} s (judge.seconds)"
        turn.fail(worker.held.popleft(), Status.TIMEOUT, note, seconds)
        turn.queue.extendleft(reversed(worker.held))
    elif not worker.is_ready and seconds > START_SECONDS:
        crew.failed(f"it was not ready within {START_SECONDS:.0f} s")
        crew.dismiss(worker)
    elif worker.held and seconds > TICK and is_gone(worker):
        _read(turn, crew, worker)  # its last words
        if worker in crew.workers:
            _lost(turn, crew, worker)
