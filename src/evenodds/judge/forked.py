"""Workers for a function that no other process can import: forked from this one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
import weakref
from contextlib import suppress
from dataclasses import dataclass

from evenodds.judge.process import Worker, opened
from evenodds.verifiers import Verifier


@dataclass(eq=False)
class Forked:
    """A child of this process by fork, asked like a `subprocess.Popen`."""

    pid: int
    ends: tuple[int, int, int]
    code: int | None = None

    def poll(self) -> int | None:
        if self.code is None:
            with suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("a forked worker", timeout or 0.0)
            time.sleep(0.001)
        return code


FORKED: weakref.WeakSet[Forked] = weakref.WeakSet()  # a fork closes what it inherits of others


def can_fork() -> bool:
    """Whether a fork of this process may go on running Python: on Linux only.

    The system libraries of macOS abort in a forked child, and Windows has no fork.
    """
    return sys.platform == "linux"


def fork(verifier: Verifier, memory_mb: int) -> Worker:
    """A worker that has this process's memory as it is now, and so the function itself."""
    requests, to_worker = os.pipe()
    from_worker, replies = os.pipe()
    lifeline, ours = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()  # else the child would write it a second time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads; see docs/decisions.md
        pid = os.fork()
    if pid == 0:
        _child(verifier, memory_mb, (requests, replies, lifeline), (to_worker, from_worker, ours))
    for descriptor in (requests, replies, lifeline):
        os.close(descriptor)
    ends = (to_worker, from_worker, ours)
    child = Forked(pid, ends)
    FORKED.add(child)
    return opened(child, *ends)


def _child(
    verifier: Verifier, memory_mb: int, theirs: tuple[int, int, int], ours: tuple[int, int, int]
) -> None:
    """Never returns. Nothing of the parent's own clean-up may run here."""
    try:
        from evenodds.judge import worker

        os.setsid()
        for descriptor in [*ours, *(end for other in [*FORKED] for end in other.ends)]:
            with suppress(OSError):
                os.close(descriptor)
        requests, replies, lifeline = theirs
        worker.die_with(lifeline)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        worker.quiet_down()
        _one_thread()
        worker.limit_memory(memory_mb)
        worker.serve(requests, replies, verifier, memory_mb)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _one_thread() -> None:
    """The threads of torch did not come along; asked to use them, it would wait for ever."""
    torch = sys.modules.get("torch")
    if torch is not None:
        with suppress(Exception):
            torch.set_num_threads(1)
