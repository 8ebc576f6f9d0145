"""One worker process seen from the judge: its pipes, what it holds, and how it is ended."""

from __future__ import annotations

import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from evenodds.judge import frames
from evenodds.machine import above

PIECE = 2**16
UNKNOWN = 256  # the exit code of a process whose parent is gone
GOES = 0.2  # seconds that a process is given to end by itself, so that its exit code is known


@dataclass
class Worker:
    """A process and its three pipes. held: the calls that were given to it, the first is at work.

    began: when it began that one, or when the process was asked for. pid: as it says when it is
    ready. exit_code: asks its parent for its exit code, None while it runs. reap: tells its parent
    that nobody will ask again. generation: which of a nursery's templates it comes from.
    """

    requests: int
    replies: int
    lifeline: int
    exit_code: Callable[[int], int | None]
    reap: Callable[[int], None]
    generation: int = 0
    began: float = field(default_factory=time.monotonic)
    pid: int = 0
    is_fresh: bool = True
    deadline: float = 0.0
    held: deque[int] = field(default_factory=deque[int])
    inbox: bytearray = field(default_factory=bytearray)
    outbox: bytearray = field(default_factory=bytearray)

    @property
    def is_ready(self) -> bool:
        return self.pid != 0


class Lost(Exception):
    """The process ended, or what it sends cannot be read."""


def pipe() -> tuple[int, int]:
    """A pipe whose ends are no standard streams, though one of those may have been closed."""
    near, far = os.pipe()
    return above(near), above(far)


def flush(worker: Worker) -> None:
    """Write what the pipe takes now; the rest waits in the outbox. A broken pipe is found later."""
    with suppress(BlockingIOError):
        while worker.outbox:
            try:
                sent = os.write(worker.requests, worker.outbox[:PIECE])
            except BrokenPipeError:  # the other end of the replies says so too
                sent = len(worker.outbox)
            del worker.outbox[:sent]


def received(worker: Worker) -> list[Any]:
    """The messages that have arrived. Raises `Lost` at the end of the pipe or for odd bytes."""
    found: list[Any] = []
    try:
        while piece := os.read(worker.replies, PIECE):
            worker.inbox += piece
            found += frames.unframed(worker.inbox)
    except BlockingIOError:
        return found
    except (OSError, ValueError, RecursionError) as error:
        raise Lost from error
    if not found:
        raise Lost
    return found  # the end of the pipe is met again at the next reading


def waited(workers: Sequence[Worker], seconds: float, bell: int) -> list[Worker]:
    """Those that have something to read, or ended, after at most so long; outboxes are flushed.

    bell: a pipe into which somebody writes to end the waiting early.
    """
    poll = select.poll()
    poll.register(bell, select.POLLIN)
    by_reply = {worker.replies: worker for worker in workers}
    by_request = {worker.requests: worker for worker in workers if worker.outbox}
    for descriptor in by_reply:
        poll.register(descriptor, select.POLLIN)
    for descriptor in by_request:
        poll.register(descriptor, select.POLLOUT)
    readable: list[Worker] = []
    for descriptor, _ in poll.poll(max(0.0, 1000 * seconds)):
        if descriptor == bell:
            os.read(bell, PIECE)
        elif descriptor in by_request:
            flush(by_request[descriptor])
        else:
            readable.append(by_reply[descriptor])
    return readable


def is_gone(worker: Worker) -> bool:
    return worker.is_ready and worker.exit_code(worker.pid) is not None


def end(worker: Worker, patiently: bool = False) -> str:
    """Kill the process with all its group and close the pipes; how it ended, in words.

    patiently: it seems to end by itself, and may do so, for its exit code.
    """
    code = _own_end(worker) if patiently else None
    os.close(worker.lifeline)  # of which the kernel kills the group, also one not yet ready
    if worker.is_ready:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.reap(worker.pid)
    for descriptor in (worker.requests, worker.replies):
        os.close(descriptor)
    return ended(code)


def _own_end(worker: Worker) -> int | None:
    until = time.monotonic() + GOES
    while worker.is_ready and time.monotonic() < until:
        code = worker.exit_code(worker.pid)
        if code is not None:
            return code
        time.sleep(0.001)
    return None


def ended(code: int | None) -> str:
    if code is None:
        return "the verifier's process closed its connection"
    if code == UNKNOWN:
        return "the verifier's process ended"
    if code >= 0:
        return f"the verifier's process ended: exit code {code}"
    hint = ", perhaps out of memory" if -code == signal.SIGKILL else ""
    return f"the verifier's process was killed by signal {-code}{hint}"
