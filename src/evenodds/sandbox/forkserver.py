"""The first way: our own fork server, in namespaces, behind Landlock and seccomp."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from evenodds.machine import socket_above
from evenodds.sandbox.pump import Descriptors, ServerGone, crossed, gather, opened, outcome
from evenodds.sandbox.values import DEFAULT, Job, Limits, Outcome, SandboxUnavailable

BOOT = """
import importlib, sys, types
for name, path in (("evenodds", sys.argv[2]), ("evenodds.sandbox", sys.argv[3])):
    module = types.ModuleType(name)
    module.__path__ = [path]
    sys.modules[name] = module
far = importlib.import_module(f"evenodds.sandbox.inside.{sys.argv[4]}")
getattr(far, sys.argv[5])()
"""
"""Imports the far side without this package's own `__init__`: nothing of it is needed there."""

ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "PATH": "/nowhere",
    "HOME": "/work",
    "TMPDIR": "/work",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",  # else each thread takes 64 MiB of the address space to begin with
}
FOLDER = Path(__file__).parent
START_SECONDS = 20.0
TRUSTED_MORE = 1.5


@dataclass
class Server:
    """A running server: its process and this side of the socket."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    how: str
    owner: int = field(default_factory=os.getpid)

    def send(self, message: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self.control, [json.dumps(message).encode()], fds)
        except OSError as error:
            raise ServerGone(str(error)) from error

    def receive(self) -> dict[str, Any]:
        try:
            data = self.control.recv(4096)
        except OSError as error:
            raise ServerGone(str(error)) from error
        if not data:
            raise ServerGone("it closed its socket")
        return cast("dict[str, Any]", json.loads(data))

    def fileno(self) -> int:
        return self.control.fileno()

    def stop(self) -> None:
        """End it and all that runs in it. In a process forked from the owner only forget it."""
        self.control.close()
        if os.getpid() != self.owner:
            self.process.returncode = 0  # not ours to wait for
            return
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)


def start_server() -> Server:
    """Start the fork server. Raises `SandboxUnavailable`."""
    return _started("the fork server", "server")


def start_bubblewrap() -> Server:
    """Start the server that puts each program in a bubblewrap. Raises `SandboxUnavailable`."""
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable("bubblewrap is not installed.")
    pythons = [getattr(sys, "_base_executable", sys.executable), "/usr/bin/python3"]
    return _started("bubblewrap", "wrapped", found, BOOT, *pythons)


def _started(name: str, module: str, *more: str) -> Server:
    """Start a process and wait until it is ready."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours, theirs = socket_above(near), socket_above(far)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-S", "-s", "-B", "-c", BOOT, str(theirs.fileno()),
             str(FOLDER.parent), str(FOLDER), module, "main", *more],
            env=ENVIRONMENT, cwd="/", pass_fds=[theirs.fileno()], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    server = Server(process, ours, "")
    ours.settimeout(START_SECONDS)
    try:
        message = server.receive()
    except ServerGone as error:
        message = {"failed": str(error)}
    ours.settimeout(None)
    if "ready" not in message:
        server.stop()
        raise SandboxUnavailable(f"{name} did not start: {message.get('failed')}.")
    wall = f"Landlock {message['landlock']}" if message["landlock"] else "no Landlock"
    server.how = f"{message['ready']}, {wall}, seccomp"
    return server


@dataclass
class ForkServer:
    """A `Sandbox` over a server that starts a shut-in child for each program.

    begin: starts the server; one that died is started again with the next program.
    """

    begin: Callable[[], Server] = start_server
    lock: threading.Lock = field(default_factory=threading.Lock)
    count: int = 0
    server: Server = field(init=False)

    def __post_init__(self) -> None:
        self.server = self.begin()

    @property
    def how(self) -> str:
        return self.server.how

    def run(self, program: str, *, stdin: bytes = b"", limits: Limits = DEFAULT) -> Outcome:
        return self._together([Job(program, stdin)], limits)[0]

    def converse(
        self, trusted: Job, untrusted: Job, limits: Limits = DEFAULT
    ) -> tuple[Outcome, Outcome]:
        first, second = self._together([trusted, untrusted], limits)
        return first, second

    def close(self) -> None:
        with self.lock:
            self.server.stop()

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def _together(self, jobs: Sequence[Job], limits: Limits) -> list[Outcome]:
        with self.lock:
            why = ""
            for attempt in (0, 1):
                try:
                    if self.server.owner != os.getpid() or attempt:
                        self.server.stop()
                        self.server = self.begin()
                    return self._once(jobs, limits)
                except (ServerGone, OSError, SandboxUnavailable) as error:
                    why = f"the sandbox failed: {error}"
                except BaseException:  # an interrupt: what still runs must end
                    self.server.stop()
                    self.server.owner = 0
                    raise
            return [Outcome("error", 0, b"", why.encode(), 0.0) for _ in jobs]

    def _once(self, jobs: Sequence[Job], limits: Limits) -> list[Outcome]:
        numbers = list(range(self.count, self.count + len(jobs)))
        self.count += len(jobs)
        near, far = Descriptors(), Descriptors()
        with near:
            with far:
                extra = crossed(far) if len(jobs) == 2 else ((),)
                sent = [opened(job, limits.output, near, far) for job in jobs]
                for number, more, (fds, _) in zip(numbers, extra, sent, strict=True):
                    # nobody answers the trusted one in time whose partner may take it all
                    slack = TRUSTED_MORE if len(jobs) == 2 and number == numbers[0] else 1.0
                    self.server.send({"run": number, **order(limits, slack)}, [*fds, *more])
            streams = [pair for _, pair in sent]
            ends = gather(self.server, numbers, streams, limits.total)
            return [outcome(end, pair) for end, pair in zip(ends, streams, strict=True)]


def order(limits: Limits, slack: float = 1.0) -> dict[str, float | int]:
    """The limits in the server's words; `slack` times as much of each clock."""
    return {
        "seconds": limits.seconds * slack,
        "wall": limits.seconds * limits.patience * slack,
        "hard": math.ceil(limits.total) + 1,
        "memory": limits.memory,
        "disk": limits.disk,
        "threads": limits.threads,
        "seed": limits.seed,
    }
