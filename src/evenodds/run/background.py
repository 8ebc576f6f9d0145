"""One thread that writes while the run goes on: in order, a little behind, and never silently."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Queue

WAITING = 4  # jobs that may wait: the rollouts and lines of two steps; with more the run waits

GOES = 0.4  # seconds for the job at hand when the run is left at once
STAYS = 60.0  # seconds that Python's end then waits for it

Job = Callable[[], object]


class Background:
    """Does jobs one after the other in a thread of its own.

    After the first that fails none is done any more, and whoever hands over another one, or waits
    for the end, is told what it raised: so nothing is written that stands on what was lost.
    """

    def __init__(self) -> None:
        self._jobs: Queue[Job | None] = Queue(WAITING)
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def do(self, job: Job) -> None:
        """Hand over a job. Waits while there are too many; raises what an earlier one raised."""
        self.check()
        if self._thread is None:  # a daemon: a second signal must not wait for a slow disk
            thread = threading.Thread(target=self._work, name="writer", daemon=True)
            thread.start()
            self._thread = thread  # not one that could not start, for which none can wait
        self._jobs.put(job)

    def check(self) -> None:
        """Raise what a job has raised."""
        if self._error is not None:
            raise self._error

    def settle(self) -> None:
        """Wait until all jobs are done; raises what one of them raised."""
        self._jobs.join()
        self.check()

    def close(self) -> bool:
        """End the thread; whether it has ended. Jobs that wait are dropped.

        The one at hand may take a while on a slow disk. Python's end waits for it then: a thread
        that is within C++ at that moment (pyarrow) would end the process by std::terminate,
        "terminate called without an active exception", exit code 134.
        """
        with suppress(Empty):
            while True:
                self._jobs.get_nowait()
                self._jobs.task_done()
        if self._thread is None:
            return True
        self._jobs.put(None)
        self._thread.join(GOES)
        if self._thread.is_alive():
            atexit.register(self._thread.join, STAYS)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                if self._error is None:
                    job()
            except BaseException as error:
                self._error = error
            finally:
                self._jobs.task_done()
