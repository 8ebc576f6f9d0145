"""When a run ends: its steps, its seconds, or a signal."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from types import FrameType

from evenodds.errors import EvenoddsError
from evenodds.own import Leaving

STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals that ask a command to end. SIGQUIT is left as it is: it ends a process at once."""

TOGETHER = 0.1
"""Seconds within which two signals are one: `uv run` and `srun` pass on what the terminal sends to
all processes anyway, and a person is not that quick."""


def is_importing(frame: FrameType | None) -> bool:
    """Whether a signal came in the middle of an import.

    An exception that is raised there may leave Python's import lock taken for good, so that other
    threads wait for ever, or it is swallowed by a library that tries what it can import.
    """
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


class Interrupted(EvenoddsError):
    """A signal came at a place where nothing is lost by leaving at once."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}.")
        self.exit_code = 128 + number


@dataclass
class Clock:
    """Seconds since the run began, those of earlier sittings included."""

    limit: float | None
    before: float = 0.0
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        return self.before + time.monotonic() - self.started

    def has(self, seconds: float) -> bool:
        """Whether that much time is left."""
        return self.limit is None or self.elapsed + seconds < self.limit


class Interrupts:
    """SIGINT, SIGTERM and SIGHUP are noted, so that the step at hand can end; the second leaves.

    Use as a context manager in the main thread; elsewhere signals cannot be caught and stay as
    they are. One that is ignored (`nohup`) stays so too. received: the first that came.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._at = 0.0
        self._earlier: dict[int, object] = {}

    def __enter__(self) -> Interrupts:
        try:
            for number in STOPPING:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._earlier[number] = signal.signal(number, self._note)
        except ValueError:  # not the main thread
            pass
        for handler in self._earlier.values():  # whose exception a library may have swallowed
            self.received = self.received or getattr(
                getattr(handler, "__self__", None), "received", None
            )
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.received is None:
            self.received, self._at = number, now
        elif now - self._at > TOGETHER and not is_importing(frame):
            raise Leaving(128 + number)  # which no verifier's failure hides

    def leave_if_asked(self) -> None:
        """Raise `Interrupted` if a signal came: for places where there is nothing to save."""
        if self.received is not None:
            raise Interrupted(self.received)
