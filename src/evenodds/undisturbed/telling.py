"""What a person's code has changed or left behind is told, once for each function and thing."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

LEFT_OPEN = 16  # files more than before one call; threads of ours open some meanwhile

_told: set[tuple[str, str]] = set()
_opened: set[str] = set()


@dataclass(frozen=True)
class Before:
    """Open files and threads before a person's code was called."""

    files: int
    threads: frozenset[threading.Thread]

    def left_behind(self, who: str) -> list[str]:
        """What is to be told of files and threads that there are more of than before.

        What opens many files once may keep them, as a pool of processes does; a leak does so again.
        """
        left: list[str] = []
        if _open_files() - self.files > LEFT_OPEN:
            if who in _opened:
                left.append("leaves files open: the run ends once there are too many")
            _opened.add(who)
        if any(not one.daemon for one in {*threading.enumerate()} - self.threads - _of_pools()):
            left.append(
                "leaves a thread running, for which Python waits at its end: make it a daemon"
            )
        return left


def before_a_call() -> Before:
    return Before(_open_files(), frozenset(threading.enumerate()))


def tell(who: str, changed: Sequence[str], left: Sequence[str] = ()) -> None:
    """Lines on stderr, the first time that this code changes a part or leaves a thing behind."""
    new = [what for what in (*changed, *left) if (who, what) not in _told]
    _told.update((who, what) for what in new)
    parts = ", ".join(part for part in changed if part in new)
    lines = [f"changed {parts}; that was put back"] if parts else []
    for line in (*lines, *(thing for thing in left if thing in new)):
        with suppress(OSError, ValueError, AttributeError):  # closed, or none
            sys.stderr.write(f"evenodds: {who} {line}.\n")


def _of_pools() -> set[threading.Thread]:
    """Threads of executors: Python ends those itself, idle as they are."""
    process = "concurrent.futures.process", "_threads_wakeups"
    places = (("concurrent.futures.thread", "_threads_queues"), process)
    return {one for module, name in places for one in getattr(sys.modules.get(module), name, ())}


def _open_files() -> int:
    """How many descriptors this process has; 0 where nothing says so."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0
