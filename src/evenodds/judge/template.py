"""The template: loads a verifier once, never calls it on an answer, and forks workers on demand.

A worker that was killed is thus replaced in milliseconds, whatever the verifier imports. `main` is
called in a Python of its own, with two file descriptors as arguments: ORDERS LIFELINE.

Orders are nine bytes: what, and a process id. `SPAWN` comes with the three pipes of a worker.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from evenodds.domain import Completion, Problem
from evenodds.judge import frames, worker
from evenodds.judge.inline import judged
from evenodds.own import described
from evenodds.verifiers import RegisteredVerifier, Verifier, find_verifier

SPAWN, ASK, REAP = b"SAR"
SIZE = 9
RUNNING = -(2**31)
STARTED: list[object] = []  # a Popen that is dropped would be waited for by the next one
WARM = Problem("warm-up", "", "1", "warm-up")


def order(what: int, pid: int) -> bytes:
    return bytes([what]) + pid.to_bytes(8, "big", signed=True)


def answer_of(orders: socket.socket) -> int | None:
    """What a template answers to `ASK`: an exit code, or None for a process that runs."""
    answer = orders.recv(SIZE)
    if len(answer) < SIZE:
        raise ConnectionError("the template ended")
    code = int.from_bytes(answer[1:], "big", signed=True)
    return None if code == RUNNING else code


def load(spec: dict[str, Any]) -> Verifier:
    """The verifier that a spec names. A registered one is warmed up: it may import libraries."""
    sys.path[:] = spec["path"]  # imports mean the same as in the judge's process
    verifier = find_verifier(spec["name"], spec["table"])
    if isinstance(verifier, RegisteredVerifier):
        judged(verifier, WARM, [Completion("\\boxed{1}")])
    return verifier


def is_safe() -> bool:
    """Whether a fork copies all of this process: no other thread, and no GPU in use."""
    with suppress(OSError):
        if len(os.listdir("/proc/self/task")) > 1:
            return False
    torch = sys.modules.get("torch")
    uses_gpu = torch is not None and torch.cuda.is_initialized()
    return sys.platform == "linux" and threading.active_count() == 1 and not uses_gpu


def serve(orders: socket.socket, make: worker.Make, idle: tuple[int, ...]) -> None:
    """Obey until the judge is gone. idle: descriptors that a worker must not hold."""
    children: dict[int, int | None] = {}
    dismissed: set[int] = set()
    while True:
        message, descriptors, *_ = socket.recv_fds(orders, SIZE, 3)
        if len(message) < SIZE:
            return
        what, pid = message[0], int.from_bytes(message[1:], "big", signed=True)
        if what == SPAWN:
            children[make(tuple(descriptors), idle)] = None
            for descriptor in descriptors:
                os.close(descriptor)
        elif what == ASK:
            code = _code(children, pid)
            orders.sendall(order(ASK, RUNNING if code is None else code))
        else:
            dismissed.add(pid)
        for pid in [*dismissed]:
            if _code(children, pid) is not None:
                dismissed.discard(pid)
                children.pop(pid, None)


def _code(children: dict[int, int | None], pid: int) -> int | None:
    """The exit code of a child, None while it runs. Until it is asked for, its id is not reused."""
    if pid not in children:
        return 0
    if children[pid] is None:
        try:
            found, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            found, status = pid, 0
        children[pid] = os.waitstatus_to_exitcode(status) if found else None
    return children[pid]


def _forking(verifier: Verifier, memory_mb: int) -> worker.Make:
    """Workers that are copies of this process."""

    def make(pipes: tuple[int, ...], idle: tuple[int, ...]) -> int:
        pid = os.fork()
        if pid == 0:
            worker.be(pipes, idle, lambda spec: verifier, memory_mb)
        return pid

    return make


def _executing(pipes: tuple[int, ...], idle: tuple[int, ...]) -> int:
    """A worker that loads the verifier by itself, where a fork would not be safe."""
    process = subprocess.Popen(
        python("evenodds.judge.worker", *pipes),
        stdin=subprocess.DEVNULL,
        pass_fds=pipes,
        start_new_session=True,
    )
    STARTED.append(process)
    return process.pid


def _failing(note: str) -> worker.Make:
    """Where the verifier cannot be loaded, each worker that is asked for says so."""

    def make(pipes: tuple[int, ...], idle: tuple[int, ...]) -> int:
        with suppress(OSError):
            worker.send(pipes[1], frames.pack({"failed": note}))
        return 0

    return make


def _maker(spec: dict[str, Any]) -> worker.Make:
    try:
        verifier = load(spec)
    except BaseException as error:
        return _failing(described(error))
    if not is_safe():
        return _executing
    gc.collect()
    gc.freeze()  # so that a collection in a worker copies no pages of ours
    return _forking(verifier, spec["memory_mb"])


def be_forked(orders: socket.socket, lifeline: int, verifier: Verifier, memory_mb: int) -> NoReturn:
    """What a forked template does. Nothing of its parent's own clean-up may run here."""
    try:
        os.setsid()
        worker.die_with(lifeline)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        worker.quiet_down()
        _one_thread()
        serve(orders, _forking(verifier, memory_mb), (orders.fileno(), lifeline))
    except BaseException:
        os._exit(1)
    os._exit(0)


def _one_thread() -> None:
    """The threads of torch did not come along; asked to use them, it would wait for ever."""
    torch = sys.modules.get("torch")
    if torch is not None:
        with suppress(Exception):
            torch.set_num_threads(1)


def python(module: str, *descriptors: int) -> list[str]:
    """The command that calls a module's `main` without looking for modules in this folder."""
    code = f"from {module} import main; main()"
    return [sys.executable, "-P", "-c", code, *map(str, descriptors)]


def main() -> None:
    """The life of a template that was started by itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # the judge is gone: nobody reads what is said
        _live(*(int(argument) for argument in sys.argv[1:]))
    os._exit(0)


def _live(descriptor: int, lifeline: int) -> None:
    os.set_inheritable(descriptor, False)
    os.set_inheritable(lifeline, False)
    worker.die_with(lifeline)
    worker.quiet_down()
    orders = socket.socket(fileno=descriptor)
    spec = frames.read_frame(partial(worker.exactly, descriptor))
    if spec is not None:
        serve(orders, _maker(spec), (descriptor, lifeline))
