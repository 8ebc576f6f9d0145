"""The judge's side of the template: the process that loads a verifier once and makes workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import evenodds
from evenodds.judge import frames, template
from evenodds.judge.process import UNKNOWN, Worker, flush, pipe
from evenodds.machine import socket_above
from evenodds.verifiers import Verifier

KEPT = ("LC_", "PYTHON", "HF_", "EVENODDS_", "LD_", "DYLD_", "XDG_", "LEAN", "ELAN", "LAKE")
NAMED = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "VIRTUAL_ENV", "CONDA_PREFIX")
SECRET = ("TOKEN", "SECRET", "PASSWORD", "KEY")
ANSWER_SECONDS = 5.0  # within which a template says whether a worker has ended


class Process(Protocol):
    """What is asked of a template's process, started either way."""

    pid: int

    def wait(self, timeout: float | None = None) -> int: ...


@dataclass(frozen=True)
class Template:
    """A process that waits for orders, and our ends of its two connections."""

    process: Process
    orders: socket.socket
    lifeline: int


@dataclass
class Nursery:
    """Makes workers. start: starts the template. spec: what a worker reads first.

    generation: how many templates there have been.
    """

    start: Callable[[], Template]
    spec: dict[str, Any]
    template: Template | None = None
    generation: int = 0

    def hire(self) -> Worker:
        """A worker, asked for but not waited for. Raises `OSError` where none can be had."""
        if self.template is None:
            self.generation += 1
            self.template = self.start()
        requests, to_worker = pipe()
        from_worker, replies = pipe()
        lifeline, ours = pipe()
        os.set_blocking(to_worker, False)
        os.set_blocking(from_worker, False)
        worker = Worker(to_worker, from_worker, ours, self._exit_code, self._reap, self.generation)
        try:
            self._order(template.SPAWN, 0, (requests, replies, lifeline))
        except OSError:
            for descriptor in (to_worker, from_worker, ours):
                os.close(descriptor)
            self.close()  # another one next time
            raise
        finally:
            for descriptor in (requests, replies, lifeline):
                os.close(descriptor)
        worker.outbox += frames.pack(self.spec)
        flush(worker)
        return worker

    def _order(self, what: int, pid: int, descriptors: tuple[int, ...] = ()) -> None:
        if self.template is None:
            raise ConnectionError("there is no template")
        socket.send_fds(self.template.orders, [template.order(what, pid)], descriptors)

    def _exit_code(self, pid: int) -> int | None:
        try:
            self._order(template.ASK, pid)
            assert self.template is not None
            return template.answer_of(self.template.orders)
        except OSError:  # the template is gone
            return None if _runs(pid) else UNKNOWN

    def _reap(self, pid: int) -> None:
        with suppress(OSError):
            self._order(template.REAP, pid)

    def close(self) -> None:
        """End the template; its workers have lifelines of their own."""
        gone, self.template = self.template, None
        if gone is None:
            return
        os.close(gone.lifeline)
        gone.orders.close()
        for kill in (os.killpg, os.kill):  # it may have no group of its own yet
            with suppress(ProcessLookupError, PermissionError):
                kill(gone.process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired, ChildProcessError):
            gone.process.wait(ANSWER_SECONDS)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


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
    # an installed package is found anyhow, and its folder would hide the standard library
    if place.name not in ("site-packages", "dist-packages"):
        found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(place), found.get("PYTHONPATH")]))
    return found


def _is_plain(name: str) -> bool:
    if any(word in name.upper() for word in SECRET):
        return False
    return name in NAMED or name.startswith(KEPT)


def _sockets() -> tuple[socket.socket, socket.socket]:
    near, far = socket.socketpair()
    return socket_above(near), socket_above(far)


def by_exec(spec: dict[str, Any], is_own: bool) -> Template:
    """A template that imports the verifier by its name: a fresh Python, without torch."""
    ours, theirs = _sockets()
    lifeline, hold = pipe()
    try:
        process = subprocess.Popen(
            template.python("evenodds.judge.template", theirs.fileno(), lifeline),
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), lifeline),
            start_new_session=True,
            env=environment(is_own),
        )
    except OSError:
        ours.close()
        os.close(hold)
        raise
    finally:
        theirs.close()
        os.close(lifeline)
    ours.settimeout(ANSWER_SECONDS)
    found = Template(process, ours, hold)
    with suppress(OSError):  # it has ended already; the first order finds that out
        ours.sendall(frames.pack(spec))
    return found


@dataclass
class Forked:
    """A child of this process by fork, waited for like a `subprocess.Popen`."""

    pid: int

    def wait(self, timeout: float | None = None) -> int:
        until = time.monotonic() + (timeout or 0.0)
        while not (found := os.waitpid(self.pid, os.WNOHANG))[0]:
            if timeout is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("a template", timeout)
            time.sleep(0.001)
        return os.waitstatus_to_exitcode(found[1])


def can_fork() -> bool:
    """Whether a fork of this process may go on running Python: on Linux only.

    The system libraries of macOS abort in a forked child, and Windows has no fork.
    """
    return sys.platform == "linux"


def by_fork(verifier: Verifier, memory_mb: int) -> Template:
    """A template that has this process's memory as it is now, and so the function itself."""
    ours, theirs = _sockets()
    lifeline, hold = pipe()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()  # else the child would write it a second time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads; see docs/decisions.md
        pid = os.fork()
    if pid == 0:
        ours.close()
        os.close(hold)
        template.be_forked(theirs, lifeline, verifier, memory_mb)
    theirs.close()
    os.close(lifeline)
    ours.settimeout(ANSWER_SECONDS)
    return Template(Forked(pid), ours, hold)
