"""Connections that ask nothing are ended, or a few dozen of them would lock everyone else out.

The server waits without end for the first request of a connection, and for the rest of one that
was begun. Whoever may connect, which is every user of this machine, could fill its places so.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0  # seconds that a whole request may take to come


class Patient(H11Protocol):
    """A connection of the server that has so long for each of its requests."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, self._look, self.cycle)

    def _look(self, before: Any) -> None:
        """End it where no request came since the last look, and none is being answered."""
        now: Any = self.cycle
        if self.transport.is_closing():
            return
        if now is before and (now is None or now.response_complete):
            self.transport.close()
        else:
            self.loop.call_later(PATIENCE, self._look, now)


class Interruptible(uvicorn.Server):
    """A server that ends at a signal, and then does what the signal did before it was there.

    The library sends itself the signal once more instead, which counts as a second one.
    """

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        asked: list[int] = []

        def note(number: int, frame: Any) -> None:
            asked.append(number)
            self.handle_exit(number, frame)

        earlier = {n: signal.signal(n, note) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)
        for number in asked[:1]:
            handler = earlier[signal.Signals(number)]
            if callable(handler):
                handler(number, None)
            else:
                signal.raise_signal(number)
