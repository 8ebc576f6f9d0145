"""Base against trained, worked out once beside the pages: its intervals take half a second."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from evenodds.report.record import RunRecord

PATIENCE = 0.15  # seconds that a page waits for it


@dataclass
class Compared:
    """The comparison of a run's two evaluations. word: changes when there is a new answer."""

    word: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    _asked: str = ""
    _found: RunRecord | None = None
    _ready: threading.Event = field(default_factory=threading.Event)

    def ask(
        self, run: RunRecord, word: str, wait: float = PATIENCE
    ) -> tuple[bool, RunRecord | None]:
        """Whether the answer is there yet, and the run with its comparison worked out.

        None is the answer where an evaluation is missing, or cannot be compared. word: tells apart
        what was evaluated.
        """
        if run.base is None or run.final is None:
            return True, None
        with self.lock:
            if self._asked != word:
                self._asked, self._ready = word, threading.Event()
                work = self._work(run, word, self._ready)
                threading.Thread(target=work, daemon=True).start()
            ready = self._ready
        done = ready.wait(wait)
        with self.lock:
            return done, self._found if done and self.word == word else None

    def _work(self, run: RunRecord, word: str, ready: threading.Event) -> Callable[[], None]:
        def work() -> None:
            try:
                found = run if run.comparison is not None else None
            except (ValueError, TypeError, KeyError, ArithmeticError):
                found = None  # a damaged record; the page says that there is nothing to compare
            with self.lock:
                if self._asked == word:
                    self.word, self._found = word, found
            ready.set()

        return work
