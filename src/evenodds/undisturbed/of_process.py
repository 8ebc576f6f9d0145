"""What the system keeps of a process: its umask, signals and limits."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from evenodds.undisturbed.part import Part

HANDLED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")


def parts() -> list[Part]:
    """Those that this thread, on this system, can read and put back."""
    return [Part("the umask", _umask, os.umask), *_signals(), *_limits()]


def _umask() -> int:
    """What the rights of new files lack. It is read by setting it: for less than a microsecond a
    file that another thread makes would be its owner's alone.
    """
    found = os.umask(0o077)
    os.umask(found)
    return found


def _handlers() -> tuple[Any, ...]:
    numbers = [getattr(signal, name) for name in HANDLED if hasattr(signal, name)]
    return tuple((number, signal.getsignal(number)) for number in numbers)


def _handle(handlers: Sequence[Any]) -> None:
    for number, handler in handlers:
        if handler is not None:  # one that was not set from Python cannot be set again
            signal.signal(number, handler)


def _end_timer(is_on: bool) -> None:
    if not is_on:  # one that was on and ran out is its owner's to set again
        signal.setitimer(signal.ITIMER_REAL, 0)


def _signals() -> Sequence[Part]:
    """What the main thread alone can put back."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    found = [Part("the handlers of signals", _handlers, _handle)]
    if hasattr(signal, "pthread_sigmask"):
        found += [
            Part(
                "signals that are held up",
                lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
                lambda to: signal.pthread_sigmask(signal.SIG_SETMASK, to),
            ),
            Part("a timer", lambda: signal.getitimer(signal.ITIMER_REAL)[0] > 0, _end_timer),
        ]
    return found


def _limits() -> Sequence[Part]:
    """How much a process may have, where the system has such limits."""
    if sys.platform == "win32":
        return ()
    import resource

    kinds = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS)

    def write(values: Sequence[tuple[int, int]]) -> None:
        for kind, value in zip(kinds, values, strict=True):
            with suppress(OSError, ValueError):  # a hard limit that was lowered stays so
                resource.setrlimit(kind, value)

    return [Part("the limits of the process", lambda: [*map(resource.getrlimit, kinds)], write)]
