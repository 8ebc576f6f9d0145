"""One worker process seen from the judge: its pipes, what it holds, and how it is ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import evenodds
from evenodds.judge import frames

PIECE = 2**16
GOES = 0.2  # seconds that a process is given to end by itself, so that its exit code is known
KEPT = ("LC_", "PYTHON", "HF_", "EVENODDS_", "LD_", "DYLD_", "XDG_", "LEAN", "ELAN", "LAKE")
NAMED = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "VIRTUAL_ENV", "CONDA_PREFIX")
SECRET = ("TOKEN", "SECRET", "PASSWORD", "KEY")


class Child(Protocol):
    """What is asked of a process, started either way."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...


@dataclass
class Worker:
    """A process and its three pipes. held: the calls that were given to it, the first is at work.

    began: when it began that one, or when the process was started.
    """

    child: Child
    requests: int
    replies: int
    lifeline: int
    began: float
    is_ready: bool = False
    is_fresh: bool = True
    deadline: float = 0.0
    held: deque[int] = field(default_factory=deque[int])
    inbox: bytearray = field(default_factory=bytearray)
    outbox: bytearray = field(default_factory=bytearray)


class Lost(Exception):
    """The process ended, or what it sends cannot be read."""


def environment(is_own: bool) -> dict[str, str]:
    """The variables of a worker. A person's function has all, for it may need its keys.

    A registered verifier needs no secrets, so what could hold one is not passed on. One thread for
    linear algebra: the workers share the cores among them.
    """
    found = dict(os.environ)
    if not is_own:
        found = {key: value for key, value in found.items() if _is_plain(key)}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        found.setdefault(name, "1")
    place = Path(evenodds.__file__).resolve().parents[1]
    if place.name not in (
        "site-packages",
        "dist-packages",
    ):  # those would hide the standard library
        found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(place), found.get("PYTHONPATH")]))
    return found


def _is_plain(name: str) -> bool:
    if any(word in name.upper() for word in SECRET):
        return False
    return name in NAMED or name.startswith(KEPT)


def start(spec: dict[str, Any], is_own: bool) -> Worker:
    """A worker by exec, at once: it says that it is ready later. No torch, no fork of threads."""
    requests, to_worker = os.pipe()
    from_worker, replies = os.pipe()
    lifeline, ours = os.pipe()
    theirs = (requests, replies, lifeline)
    command = [sys.executable, "-m", "evenodds.judge.worker", *map(str, theirs)]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            pass_fds=theirs,
            start_new_session=True,
            env=environment(is_own),
        )
    except OSError:
        for descriptor in (to_worker, from_worker, ours):
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    worker = opened(child, to_worker, from_worker, ours)
    worker.outbox += frames.pack(spec)
    flush(worker)
    return worker


def opened(child: Child, requests: int, replies: int, lifeline: int) -> Worker:
    os.set_blocking(requests, False)
    os.set_blocking(replies, False)
    return Worker(child, requests, replies, lifeline, time.monotonic())


def flush(worker: Worker) -> None:
    """Write what the pipe takes now; the rest waits in the outbox. A broken pipe is found later."""
    with suppress(BlockingIOError, BrokenPipeError):
        while worker.outbox:
            sent = os.write(worker.requests, worker.outbox[:PIECE])
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


def waited(workers: Sequence[Worker], seconds: float) -> list[Worker]:
    """Those that have something to read, or ended, after at most so long; outboxes are flushed."""
    poll = select.poll()
    by_reply = {worker.replies: worker for worker in workers}
    by_request = {worker.requests: worker for worker in workers if worker.outbox}
    for descriptor in by_reply:
        poll.register(descriptor, select.POLLIN)
    for descriptor in by_request:
        poll.register(descriptor, select.POLLOUT)
    readable: list[Worker] = []
    for descriptor, _ in poll.poll(max(0.0, 1000 * seconds)):
        if descriptor in by_request:
            flush(by_request[descriptor])
            if worker_is_gone(by_request[descriptor]):
                by_request[descriptor].outbox.clear()
        else:
            readable.append(by_reply[descriptor])
    return readable


def worker_is_gone(worker: Worker) -> bool:
    return worker.child.poll() is not None


def end(worker: Worker, patiently: bool = False) -> str:
    """Kill the process with all its group and close the pipes; how it ended, in words.

    patiently: it seems to end by itself, and may do so, for its exit code.
    """
    try:
        code = worker.child.wait(GOES) if patiently else worker.child.poll()
    except subprocess.TimeoutExpired:
        code = None
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(worker.child.pid, signal.SIGKILL)
    if code is None:
        with suppress(ProcessLookupError, PermissionError):  # it may have no group of its own yet
            os.kill(worker.child.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            worker.child.wait(5)
    for descriptor in (worker.requests, worker.replies, worker.lifeline):
        with suppress(OSError):
            os.close(descriptor)
    return ended(code)


def ended(code: int | None) -> str:
    if code is None:
        return "the verifier's process closed its connection"
    if code >= 0:
        return f"the verifier's process ended: exit code {code}"
    hint = ", perhaps out of memory" if -code == signal.SIGKILL else ""
    return f"the verifier's process was killed by signal {-code}{hint}"
