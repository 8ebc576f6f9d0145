"""Base against trained, worked out once beside the pages: its intervals take half a second."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from evenodds.errors import EvenoddsError
from evenodds.report.comparison import Comparison
from evenodds.report.conclusion import conclude
from evenodds.report.record import RunRecord
from evenodds.report.text import one_line

PATIENCE = 0.05  # seconds that a page waits for it
MOODS = {"learned": "good", "worse": "bad", "hacked": "bad"}


@dataclass(frozen=True)
class Learned:
    """What is known of what a run learned.

    run: with its comparison worked out, if it has one. kind and sentence: the conclusion, safe to
    show, empty where there is none. ready: False while it is being worked out.
    """

    run: RunRecord
    kind: str = ""
    sentence: str = ""
    ready: bool = True

    @property
    def comparison(self) -> Comparison | None:
        return self.run.comparison if self.ready and self.kind else None

    @property
    def mood(self) -> str:
        """A class of the style sheet."""
        return MOODS.get(self.kind, "plain")


@dataclass
class Compared:
    """The last answer. word: changes when there is a new one."""

    word: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    _asked: str = ""
    _found: Learned | None = None
    _ready: threading.Event = field(default_factory=threading.Event)

    def ask(self, run: RunRecord, word: str, wait: float = PATIENCE) -> Learned:
        """What is known by now. word: tells apart what was evaluated.

        Without both evaluations there is no conclusion; while it is worked out, none yet.
        """
        if run.base is None or run.final is None:
            return Learned(run)
        with self.lock:
            if self._asked != word:
                self._asked, self._ready = word, threading.Event()
                arguments = (run, word, self._ready)
                threading.Thread(target=self._work, args=arguments, daemon=True).start()
            ready = self._ready
        ready.wait(wait)
        with self.lock:
            known = self._found if self.word == word else None
            return known or Learned(run, ready=False)

    def _work(self, run: RunRecord, word: str, ready: threading.Event) -> None:
        found = learned(run)
        with self.lock:
            if self._asked == word:
                self.word, self._found = word, found
        ready.set()


def learned(run: RunRecord) -> Learned:
    """Compare now. Of a damaged record, which cannot be compared, nothing is concluded."""
    try:
        found = conclude(run)
    except (EvenoddsError, ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
        return Learned(run)
    return Learned(run, one_line(found.kind.replace("_", " "), 40), one_line(found.sentence, 2000))
