"""How far something has come, and the time left: one line drawn again, or a line now and then."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self, TextIO

from evenodds.report.inert import steerable
from evenodds.report.text import duration, safe

QUIET = 2.0  # seconds: what takes no longer is not talked about
OFTEN, SELDOM = 0.2, 10.0  # seconds between two looks in a terminal, and two lines in a log


@dataclass
class Progress:
    """Call it with what is done and the whole number. It never raises: a lost log ends nothing."""

    stream: TextIO
    name: str
    clock: Callable[[], float] = time.monotonic
    begun: float = -1.0
    shown: float = -1.0
    drawn: int = 0

    def __call__(self, done: int, total: int) -> None:
        now = self.clock()
        if self.begun < 0:
            self.begun = now
        every = OFTEN if self._is_live else SELDOM
        if now - self.begun < QUIET or (self.shown >= 0 and now - self.shown < every):
            return
        self.shown = now
        self._write(line_of(self.name, done, total, now - self.begun))

    def close(self) -> None:
        """Leave the terminal without the line."""
        if self.drawn:
            with contextlib.suppress(OSError, ValueError):
                steerable(self.stream).write("\r" + " " * self.drawn + "\r")
                self.stream.flush()
        self.drawn, self.begun, self.shown = 0, -1.0, -1.0

    @property
    def _is_live(self) -> bool:
        return self.stream.isatty() and os.environ.get("TERM") != "dumb"

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self._is_live:
                drawn = safe(line) + " " * max(0, self.drawn - len(line))
                steerable(self.stream).write("\r" + drawn)
                self.drawn = len(line)
            else:
                self.stream.write(line + "\n")
            self.stream.flush()


def line_of(name: str, done: int, total: int, elapsed: float) -> str:
    """`bench: 512 of 2,007 (26 %), about 0:12 left`."""
    share = done / total if total else 0.0
    left = f", about {duration(elapsed * (total - done) / done)} left" if done else ""
    return f"{name}: {done:,} of {total:,} ({100 * share:.0f} %){left}"


@dataclass
class Shown:
    """Progress of several parts in turn, as a context manager that leaves a clean line."""

    stream: TextIO
    parts: list[Progress] = field(default_factory=list[Progress])

    def __call__(self, name: str) -> Progress:
        self._clear()
        self.parts.append(Progress(self.stream, name))
        return self.parts[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._clear()

    def _clear(self) -> None:
        for part in self.parts:
            part.close()
