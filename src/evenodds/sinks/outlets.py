"""The sinks of a run, each behind a thread: a slow one is not waited for, a broken one is left."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from queue import Full, Queue
from typing import Any

from evenodds.own import described
from evenodds.sinks.protocol import Sink

WAITING = 1000  # steps that may wait for a slow sink; what comes then is left out there
PATIENCE = 10.0  # seconds that a run waits at its end for all sinks together

Job = Callable[[], None]


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """What a dashboard can draw: finite numbers, and true and false as 1 and 0."""
    found = {name: float(v) for name, v in values.items() if isinstance(v, int | float)}
    return {name: value for name, value in found.items() if math.isfinite(value)}


class Outlet:
    """One sink and the thread that feeds it. trouble: what went wrong first, until it is told."""

    def __init__(self, name: str, sink: Sink) -> None:
        self.name, self._sink = name, sink
        self.trouble: str | None = None
        self._is_broken = self._is_late = False
        self._jobs: Queue[Job | None] = Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name=f"sink-{name}", daemon=True)
        self._thread.start()

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._do(lambda: self._sink.log(step, values))

    def summary(self, values: Mapping[str, float]) -> None:
        self._do(lambda: self._sink.summary(values))

    def end(self) -> None:
        """Ask the sink to close once it has what waits."""
        self._do(lambda: self._sink.close())
        self._do(None)

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)
        if self._thread.is_alive():
            self.trouble = f"had not taken everything after {PATIENCE:.0f} s"

    def _do(self, job: Job | None) -> None:
        if self._is_broken:
            return
        try:
            self._jobs.put_nowait(job)
        except Full:
            if not self._is_late:
                self._is_late, self.trouble = True, "is too slow, so some steps are left out there"

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException as error:  # whatever a dashboard raises; no signal comes here
                self._is_broken = True
                self.trouble = f"failed and gets nothing more: {described(error)}"
                return


class Outlets:
    """All sinks of a run; with none of them every call does nothing.

    tell: gets one line for each sink that has trouble, in the caller's own thread.
    """

    def __init__(self, sinks: Mapping[str, Sink], tell: Callable[[str], None]) -> None:
        self._outlets = [Outlet(name, sink) for name, sink in sinks.items()]
        self._tell = tell

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        self._each(lambda outlet: outlet.log(step, numbers(values)))

    def summary(self, values: Mapping[str, Any]) -> None:
        self._each(lambda outlet: outlet.summary(numbers(values)))

    def close(self) -> None:
        """Wait a while until all is handed over. It may be called twice."""
        outlets = self._outlets
        for outlet in outlets:
            outlet.end()
        for outlet in outlets:
            outlet.wait(PATIENCE / len(outlets))
        self._each(lambda outlet: None)
        self._outlets = []

    def _each(self, act: Callable[[Outlet], None]) -> None:
        for outlet in self._outlets:
            act(outlet)
            if outlet.trouble is not None:
                self._tell(f"sink {outlet.name} {outlet.trouble}")
                outlet.trouble = None
