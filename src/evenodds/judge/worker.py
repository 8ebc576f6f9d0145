"""A worker: judges what its pipe brings, until the pipe ends or the worker is killed.

Most are forked by the template. For one that must load the verifier by itself `main` is called in
a Python of its own, with three file descriptors as arguments: REQUESTS REPLIES LIFELINE.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from evenodds.domain import Status, Verdict
from evenodds.judge import frames
from evenodds.judge.frames import Call
from evenodds.judge.inline import judged
from evenodds.own import described, heedless
from evenodds.verifiers import Verifier

MIB = 2**20

Make = Callable[[tuple[int, ...], tuple[int, ...]], int]
"""(the pipes of a worker, descriptors that it must not hold) -> its process id."""


def die_with(lifeline: int) -> None:
    """See that this process group ends when the judge's process does, however busy it is.

    The lifeline is a pipe of which the judge's process holds the other end. On Linux the kernel
    kills the group when that end closes, even while a call holds the interpreter; elsewhere a
    thread waits for it. (PR_SET_PDEATHSIG would fire when the *thread* ends that started us.)
    """
    import fcntl

    if hasattr(fcntl, "F_SETSIG"):
        with suppress(OSError):
            fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgid(0))
            fcntl.fcntl(lifeline, fcntl.F_SETSIG, int(signal.SIGKILL))
            flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
            fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
            if fcntl.fcntl(lifeline, fcntl.F_GETSIG) == int(signal.SIGKILL):
                if select.select([lifeline], [], [], 0)[0]:  # it was closed before all this
                    os._exit(0)
                return
    threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()


def _watch(lifeline: int) -> None:
    with suppress(OSError):
        os.read(lifeline, 1)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def limit_memory(mebibytes: int) -> None:
    """Bound the address space to what is in use plus `mebibytes`, where the system can."""
    import resource

    limit = _used() + mebibytes * MIB
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with suppress(OSError, ValueError):  # a crash is a verdict, not a file
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _used() -> int:
    """Bytes of address space that this process has; 0 where nothing says so."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def quiet_down() -> None:
    """Prints go to stderr by file descriptor, warnings nowhere; Ctrl-C is the judge's matter.

    A crash is told by the verdict's note, not by a traceback of a forked pytest or notebook.
    """
    faulthandler.disable()
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.dup2(nowhere, 1)
    speech = open(2, "w", 1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    # a fork may have inherited a terminal view, or a capture; a full log is nobody's fault
    sys.stdout = sys.stderr = heedless(speech)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def answer(verifier: Verifier, call: Call, memory_mb: int) -> list[Verdict]:
    """One verdict a completion, whatever the verifier raises."""
    try:
        verdicts = judged(verifier, call.problem, call.completions, call.ids)
    except BaseException as error:  # a person's code may raise an interrupt too
        verdicts = [Verdict(0.0, Status.ERROR, note=described(error))] * len(call.completions)
    return [_explained(verdict, memory_mb) for verdict in verdicts]


def _explained(verdict: Verdict, memory_mb: int) -> Verdict:
    if verdict.status is Status.ERROR and verdict.note.startswith("MemoryError"):
        note = f"out of memory: judge.memory_mb is {memory_mb}"
        return Verdict(0.0, Status.ERROR, note=note, seconds=verdict.seconds)
    return verdict


def reply(verifier: Verifier, found: dict[str, Any], memory_mb: int) -> bytes:
    """The frame that answers a request; a verdict that JSON cannot hold is an error."""
    call = frames.call_from_json(found)
    verdicts = answer(verifier, call, memory_mb)
    try:
        return frames.pack([frames.verdict_to_json(verdict) for verdict in verdicts])
    except BaseException as error:
        failed = Verdict(0.0, Status.ERROR, note=described(error))
        return frames.pack([frames.verdict_to_json(failed)] * len(call.completions))


def be(
    pipes: tuple[int, ...],
    idle: tuple[int, ...],
    load: Callable[[dict[str, Any]], Verifier],
    memory_mb: int | None = None,
) -> NoReturn:
    """The life of a worker that a template has forked, or that was started by itself."""
    try:
        if idle:
            os.setsid()
        for descriptor in idle:
            os.close(descriptor)
        _live(pipes, load, memory_mb)
    except BaseException:  # also the judge's end, in the middle of a reply
        os._exit(1)
    os._exit(0)


def _live(
    pipes: tuple[int, ...], load: Callable[[dict[str, Any]], Verifier], memory_mb: int | None
) -> None:
    requests, replies, lifeline = pipes
    for descriptor in pipes:
        os.set_inheritable(descriptor, False)  # what a verifier starts must not hold our pipes
    die_with(lifeline)
    quiet_down()
    spec = frames.read_frame(partial(exactly, requests))
    if spec is None:
        return
    limit = spec["memory_mb"] if memory_mb is None else memory_mb
    try:
        verifier = load(spec)
    except BaseException as error:
        send(replies, frames.pack({"failed": described(error)}))
        return
    limit_memory(limit)  # what it imported is not an answer's doing
    serve(requests, replies, verifier, limit)


def serve(requests: int, replies: int, verifier: Verifier, memory_mb: int) -> None:
    """Judge until the requests end."""
    me = os.getpid()
    stream = open(requests, "rb", closefd=False)  # noqa: SIM115, for as long as the process lives
    send(replies, frames.pack({"ready": me}))
    while (found := frames.read_frame(stream.read)) is not None:
        frame = reply(verifier, found, memory_mb)
        if os.getpid() != me:  # a child that the verifier forked and that came back here
            os._exit(0)
        with suppress(Exception):
            sys.stdout.flush()
        send(replies, frame)


def send(replies: int, frame: bytes) -> None:
    left = memoryview(frame)
    while left:
        left = left[os.write(replies, left) :]


def exactly(descriptor: int, size: int) -> bytes:
    """So many bytes and none beyond, for what follows is read another way; fewer at the end."""
    parts: list[bytes] = []
    while size and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main() -> None:
    from evenodds.judge.template import load

    be(tuple(int(argument) for argument in sys.argv[1:]), (), load)
