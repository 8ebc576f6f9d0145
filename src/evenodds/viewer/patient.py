"""Connections that ask nothing are ended, or a few dozen of them would lock everyone else out.

The server waits without end for the first request of a connection, and for the rest of one that
was begun. Whoever may connect, which is every user of this machine, could fill its places so.
"""

from __future__ import annotations

import asyncio
from typing import Any

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
