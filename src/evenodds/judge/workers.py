"""The judge that works through processes: each can be killed, and none is waited for for long."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import Self

from evenodds.domain import Problem, Rollout, Verdict
from evenodds.errors import RunError
from evenodds.judge.crew import TICK, Crew, Round, advance
from evenodds.judge.deadline import Pace, Patience
from evenodds.judge.frames import Call
from evenodds.judge.inline import AtTheEnd, Judging, call_of
from evenodds.judge.nursery import Nursery
from evenodds.judge.options import JudgeOptions
from evenodds.judge.process import pipe
from evenodds.verifiers.function import Verifier, group_of


def _close(crew: Crew, owner: int) -> None:
    if os.getpid() == owner:  # and not a child that somebody forked, at its own end
        crew.dismiss_all()
        crew.nursery.close()


class WorkerJudge:
    """Judges by worker processes; one verdict a rollout, in order, whatever the verifier does.

    `open_judge` makes one for a verifier. The first processes start at once and get ready while
    the caller goes on. One judge may be asked from several threads; they take turns.
    tick: called about ten times a second while the judge waits; what it raises ends the waiting.
    early: whether `begin` judges while answers still come. Where the sampler uses all cores that
    is a loss: on two of them a verifier that computes for 1 ms made sampling 2.9 times as long.
    """

    def __init__(self, verifier: Verifier, options: JudgeOptions, nursery: Nursery) -> None:
        self.verifier, self.options = verifier, options
        self._crew = Crew(nursery, max(1, options.workers))
        self._pace = Pace()
        self._lock = threading.Lock()
        self.tick: Callable[[], None] | None = None
        self.early = True
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _close, self._crew, self._owner)
        self._crew.fill(1)

    def begin(self, problems: Sequence[Problem]) -> Judging:
        """Judge the answers to these problems while they come, or at the end if not `early`."""
        if not self.early:
            return AtTheEnd(self, problems)
        return self._groups(problems)

    def _groups(self, problems: Sequence[Problem]) -> Judging:
        return _Groups(self._turn(), problems, group_of(self.verifier) is not None)

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]:
        with self._groups(problems) as judging:
            return judging.verdicts(rollouts)

    def answered(self, calls: Sequence[Call]) -> list[list[Verdict]]:
        """The verdicts of each call, in order."""
        with self._turn() as turn:
            turn.add(calls)
            return turn.verdicts()

    def _turn(self) -> _Turn:
        if os.getpid() != self._owner:
            raise RunError(
                "this judge belongs to the process that this one was forked from. "
                "Open one here: evenodds.judge.open_judge."
            )
        patience = Patience(self.options.seconds, self._crew.size, self._pace)
        return _Turn(self._lock, self._crew, patience, lambda: self.tick)

    def close(self) -> None:
        """End the processes. A judge that is dropped, or whose process ends, does so too."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class _Turn:
    """One time that the judge is asked, from the first call to the last verdict.

    A thread gives the calls to the workers, reads their verdicts and keeps the deadlines, so all
    of this goes on while the caller samples. Nothing else touches the crew meanwhile.
    """

    def __init__(
        self,
        lock: threading.Lock,
        crew: Crew,
        patience: Patience,
        tick: Callable[[], Callable[[], None] | None],
    ) -> None:
        self._lock, self._crew, self._patience, self._tick = lock, crew, patience, tick
        self._given: SimpleQueue[Call] = SimpleQueue()
        self._is_last = self._is_left = False
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._lock.acquire()
        try:
            self._start()
        except BaseException:  # no pipe is left, say: others must not wait for this turn forever
            self._lock.release()
            raise
        return self

    def _start(self) -> None:
        self._crew.failures = 0
        self._hears, self._bell = pipe()
        self._round = Round(self._patience, self._hears)
        self._thread = threading.Thread(target=self._work, name="judge", daemon=True)
        self._thread.start()

    def add(self, calls: Iterable[Call]) -> None:
        """Calls to be answered; their verdicts come in this order."""
        for call in calls:
            self._given.put(call)
        os.write(self._bell, b"+")

    def verdicts(self) -> list[list[Verdict]]:
        """Waits until all calls are answered."""
        self._is_last = True
        os.write(self._bell, b".")
        while self._thread.is_alive():
            self._thread.join(TICK)
            if (tick := self._tick()) is not None:
                tick()
        if self._error is not None:
            raise self._error
        return [verdicts or [] for verdicts in self._round.verdicts]

    def __exit__(self, *failure: object) -> None:
        try:
            self._is_left = True
            os.write(self._bell, b"!")
            self._thread.join()
            for worker in [worker for worker in self._crew.workers if worker.held]:
                self._crew.dismiss(worker)  # late replies must not meet the next turn
            if failure[0] is None:
                self._crew.fill(1)
        finally:
            os.close(self._hears)
            os.close(self._bell)
            self._lock.release()

    def _work(self) -> None:
        """What the thread does."""
        try:
            while not self._is_left and self._take():
                advance(self._round, self._crew)
        except BaseException as error:  # raised where the verdicts are waited for
            self._error = error

    def _take(self) -> bool:
        """Move what was given into the round. False once nothing is left and no more will come."""
        is_last = self._is_last  # asked first: what was given before that is in the queue already
        try:
            while True:
                self._round.add(self._given.get_nowait())
        except Empty:
            return bool(self._round.left) or not is_last


class _Groups:
    """A turn that is given groups of answers; a verifier that takes a group has one call each."""

    def __init__(self, turn: _Turn, problems: Sequence[Problem], whole: bool) -> None:
        self._turn, self._problems, self._whole = turn, problems, whole
        self._order: dict[int, int] = {}  # problem -> how many calls it has, as they were given

    def __enter__(self) -> Self:
        self._turn.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self._turn.__exit__(*failure)

    def give(self, index: int, rollouts: Sequence[Rollout]) -> None:
        if index in self._order:
            raise ValueError(f"the answers to problem {index} were given twice")
        calls = self._calls(self._problems[index], rollouts)
        self._order[index] = len(calls)
        self._turn.add(calls)

    def _calls(self, problem: Problem, rollouts: Sequence[Rollout]) -> list[Call]:
        if self._whole:
            return [call_of(problem, rollouts, with_ids=True)] if rollouts else []
        return [Call(problem, [rollout.completion]) for rollout in rollouts]

    def verdicts(self, rollouts: Sequence[Sequence[Rollout]]) -> list[list[Verdict]]:
        for index, (_, group) in enumerate(zip(self._problems, rollouts, strict=True)):
            if index not in self._order:
                self.give(index, group)
        answered = iter(self._turn.verdicts())
        found = {
            index: [verdict for _ in range(calls) for verdict in next(answered)]
            for index, calls in self._order.items()
        }
        return [found[index] for index in range(len(rollouts))]
