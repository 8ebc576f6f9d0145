"""How a signal ends a command: asked once it ends what it does, asked twice it ends at once."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Self

from evenodds.run.stopping import STOPPING, TOGETHER, Interrupts, is_importing

GRACE = 0.5  # seconds in which a command that was asked twice may end by itself
HINT = 1.0  # seconds after which a run that was asked once says what it is doing


class Stopped(KeyboardInterrupt):
    """A signal came. number: which one."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Signals:
    """What SIGINT, SIGTERM and SIGHUP do for as long as a command runs: `with Signals(): ...`.

    One that is ignored stays so (`nohup`), and one that somebody else handles stays theirs. The
    first raises `Stopped`; a run, which must end its step, notes it instead (`Interrupts`). After
    the second the process is gone within a second, whatever it is doing: a thread sees to that,
    for Python's own handlers have to wait for the end of a long computation.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._earlier: dict[int, object] = {}
        self._bell: socket.socket | None = None
        self._bell_before = -1

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            usual = (signal.SIG_DFL, signal.default_int_handler)
            for number in STOPPING:
                if signal.getsignal(number) in usual:
                    self._earlier[number] = signal.signal(number, self._note)
            self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]
        if self._bell is not None:
            signal.set_wakeup_fd(self._bell_before)
            self._bell.close()  # the thread that listens ends with it

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Raise `Stopped`; in an import, before which nothing was made, leave."""
        self.received = number
        if is_importing(frame):
            tell(f"stopped by {signal.Signals(number).name}.")
            leave(number)
        raise Stopped(number)

    def _listen(self) -> None:
        """The system writes each signal into a socket as it comes; a thread reads them there."""
        hears, self._bell = socket.socketpair()
        self._bell.setblocking(False)
        bell = self._bell.fileno()
        self._bell_before = signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        threading.Thread(target=_guard, args=(hears,), name="signals", daemon=True).start()


def _guard(hears: socket.socket) -> None:
    """End the process after the second signal, if it has not ended by itself then."""
    first, is_hinted = 0.0, False
    with hears:
        while True:
            waits = HINT if first and not is_hinted else None
            if not select.select([hears], [], [], waits)[0]:
                is_hinted = True
                _hint()
                continue
            came = hears.recv(64)
            if not came:
                return
            for number in set(came) & set(STOPPING):
                if first and time.monotonic() - first > TOGETHER:
                    _end(number)
                first = first or time.monotonic()


def _hint() -> None:
    if isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), Interrupts):
        tell("ends what it is at, and saves. Once more to leave at once.")


def _end(number: int) -> None:
    tell(f"{signal.Signals(number).name} again: leaves at once. What was saved is kept.")
    time.sleep(GRACE)
    leave(number)


def tell(text: str) -> None:
    """A line on stderr, past all that buffers or draws there."""
    with suppress(OSError):
        os.write(2, f"evenodds: {text}\n".encode())


def leave(number: int) -> None:
    """End this process here: what is on the disk needs nothing more of it.

    The processes of a judge end with it, for the system closes their lifelines.
    """
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h")  # a live view hides the cursor
    os._exit(128 + number)
