"""A worker: builds the verifier from its spec and judges what the pipe brings, until it ends.

Run as `python -m evenodds.judge.worker REQUESTS REPLIES LIFELINE`, three file descriptors.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from typing import Any

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.judge import frames
from evenodds.judge.frames import Call
from evenodds.judge.inline import judged
from evenodds.own import described
from evenodds.verifiers import RegisteredVerifier, Verifier, find_verifier

MIB = 2**20
WARM = Problem("warm-up", "", "1", "warm-up")


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
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    speech = open(2, "w", 1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = speech  # a fork may have inherited a terminal view, or a capture
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def load(spec: dict[str, Any]) -> Verifier:
    """The verifier that a spec names. A registered one is warmed up: it may import libraries."""
    sys.path.extend(place for place in spec["path"] if place not in sys.path)
    verifier = find_verifier(spec["name"], spec["table"])
    if isinstance(verifier, RegisteredVerifier):
        judged(verifier, WARM, [Completion("\\boxed{1}")])
    return verifier


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


def serve(requests: int, replies: int, verifier: Verifier, memory_mb: int) -> None:
    """Judge until the requests end."""
    me = os.getpid()
    stream = open(requests, "rb", closefd=False)  # noqa: SIM115, for as long as the process lives
    send(replies, frames.pack({"ready": True}))
    while (found := frames.read_frame(stream)) is not None:
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


def main(arguments: list[str]) -> None:
    requests, replies, lifeline = (int(argument) for argument in arguments)
    for descriptor in (requests, replies, lifeline):
        os.set_inheritable(descriptor, False)  # what a verifier starts must not hold our pipes
    die_with(lifeline)
    quiet_down()
    head = os.read(requests, frames.HEAD)
    if len(head) < frames.HEAD:
        return
    spec: dict[str, Any] = frames.unpack(_exactly(requests, int.from_bytes(head, "big")))
    limit_memory(spec["memory_mb"])
    try:
        verifier = load(spec)
    except BaseException as error:
        send(replies, frames.pack({"failed": described(error)}))
        return
    serve(requests, replies, verifier, spec["memory_mb"])


def _exactly(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    with suppress(OSError):  # the judge is gone: nobody reads what is said
        main(sys.argv[1:])
    with suppress(Exception):
        sys.stdout.flush()
    os._exit(0)
