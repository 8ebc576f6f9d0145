"""When a run ends: its steps, its seconds, or a signal."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from types import FrameType

from evenodds.errors import EvenoddsError


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
    """SIGINT and SIGTERM are noted, so that the step at hand can end; a second one leaves at once.

    Use as a context manager in the main thread; elsewhere signals cannot be caught and stay as
    they are.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._earlier: dict[int, object] = {}

    def __enter__(self) -> Interrupts:
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                self._earlier[number] = signal.signal(number, self._note)
        except ValueError:  # not the main thread
            pass
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            raise SystemExit(128 + number)
        self.received = number

    def leave_if_asked(self) -> None:
        """Raise `Interrupted` if a signal came: for places where there is nothing to save."""
        if self.received is not None:
            raise Interrupted(self.received)
