"""The fork server: it forks a shut-in child for each program, watches its clocks, tells its end.

Programs, their input and their output pass it by as file descriptors: it never reads one, so that
nothing of an earlier program, and no test, is in the memory that a child inherits.

Messages, one JSON datagram each:
client: {"run": n, ...Order} with descriptors [job, stdin, stdout, stderr, 3, 4, …]; {"kill": n};
{"renew": n} starts the clocks of a run anew.
server: {"ready": how} once; {"end": n, …Ending}; {"failed": why} before it gives up.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from evenodds.sandbox.inside import jail, landlock, libc, runner

WARM = """abc argparse array ast base64 binascii bisect bz2 calendar cmath collections contextlib
copy csv ctypes dataclasses datetime decimal difflib enum fractions functools gc getpass
glob hashlib heapq html inspect io itertools json keyword linecache logging lzma math
numbers operator pathlib platform pprint queue random re runpy shutil signal statistics
string struct subprocess sys tempfile textwrap threading time timeit traceback types
typing unicodedata unittest uuid warnings weakref zlib zoneinfo"""
FIRST_UID = 2_000_000_000
MARGIN = 0.002


Order = dict[str, int | float]
Starter = Callable[[Order, list[int]], "Run"]


@dataclass
class Run:
    """A child that runs: its clocks, and why it was ended where the server or client did that."""

    number: int
    pid: int
    clock: int
    pidfd: int
    news: int
    seconds: float
    wall: float
    started: float = field(default_factory=time.monotonic)
    cpu_base: float = 0.0
    wall_base: float = field(default_factory=time.monotonic)
    why: str = ""

    def cpu(self) -> float:
        """CPU seconds since its clocks were last started."""
        with contextlib.suppress(OSError):  # gone already
            return time.clock_gettime((~self.clock << 3) | 2) - self.cpu_base
        return 0.0

    def left(self) -> float:
        """Seconds until it could be over a limit at the earliest."""
        return min(self.seconds - self.cpu(), self.wall - (time.monotonic() - self.wall_base))

    def renew(self) -> None:
        self.cpu_base, self.wall_base = self.cpu() + self.cpu_base, time.monotonic()

    def kill(self, why: str) -> None:
        self.why = self.why or why
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)


def warm_up() -> None:
    """Import what programs import most, once for all of them."""
    import importlib

    talk = "evenodds.sandbox.talk"
    for name in [*WARM.split(), f"{talk}.examiner", f"{talk}.solver"]:
        with contextlib.suppress(ImportError):  # an interpreter built without it
            importlib.import_module(name)


def start(order: Order, fds: list[int], own: int, uid: int | None) -> Run:
    """Fork a child as the first process of a new process namespace."""
    news, told = os.pipe()
    cell = cell_of(order, uid)
    libc.unshare(libc.CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        runner.live([fds[0], told, *fds[1:]], partial(_shut, cell), int(order["seed"]))
    libc.setns(own, libc.CLONE_NEWPID)
    os.close(told)
    return watched(order, pid, pid, news)


def cell_of(order: Order, uid: int | None) -> jail.Cell:
    memory, disk, threads, hard = (int(order[k]) for k in ("memory", "disk", "threads", "hard"))
    return jail.Cell(memory, disk, threads, hard, uid, landlock.version())


def watched(order: Order, pid: int, clock: int, news: int) -> Run:
    """The record of a run that has started. clock: the process whose CPU time counts."""
    number, pidfd = int(order["run"]), os.pidfd_open(pid)
    return Run(number, pid, clock, pidfd, news, order["seconds"], order["wall"])


def _shut(cell: jail.Cell) -> None:
    os.setsid()  # kill(0, …) goes to the process group, whose ids know no namespace
    signal.signal(signal.SIGINT, signal.default_int_handler)
    jail.shut(cell)


def ended(run: Run) -> dict[str, object]:
    """Reap a child whose process is over; the message that says how it ended."""
    _, status, used = os.wait4(run.pid, 0)
    news = os.read(run.news, 400)
    for fd in (run.pidfd, run.news):
        os.close(fd)
    failed = "" if news == runner.STARTED else news.decode("utf-8", "replace") or "it did not start"
    return {
        "end": run.number,
        "why": run.why,
        "failed": failed.removeprefix(runner.STARTED.decode()),
        "exit": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - run.started,
        "cpu": used.ru_utime + used.ru_stime,
        "memory": used.ru_maxrss * 1024,
    }


def serve(control: socket.socket, starter: Starter, how: str) -> None:
    """Until the client closes its end. `starter` starts a program."""
    runs: dict[int, Run] = {}
    tell(control, {"ready": how, "landlock": landlock.version()})
    while True:
        poll = select.poll()
        poll.register(control, select.POLLIN)
        for run in runs.values():
            poll.register(run.pidfd, select.POLLIN)
        wait = min((run.left() for run in runs.values()), default=60.0)
        ready = {fd for fd, _ in poll.poll(max(0.0, wait + MARGIN) * 1000)}
        if control.fileno() in ready:
            data, fds, _, _ = socket.recv_fds(control, 4096, 16)
            if not data:
                return
            obey(json.loads(data), fds, runs, starter)
        for run in list(runs.values()):
            if run.pidfd in ready:
                tell(control, ended(runs.pop(run.number)))
            elif run.left() <= 0:
                run.kill("timeout")


def obey(message: Order, fds: list[int], runs: dict[int, Run], starter: Starter) -> None:
    """Do what a message of the client asks."""
    if "run" in message:
        run = starter(message, fds)
        runs[run.number] = run
        for fd in fds:
            os.close(fd)
    elif int(message.get("kill", -1)) in runs:
        runs[int(message["kill"])].kill("killed")
    elif int(message.get("renew", -1)) in runs:
        runs[int(message["renew"])].renew()


def tell(control: socket.socket, message: dict[str, object]) -> None:
    control.send(json.dumps(message).encode())


def main() -> None:
    """Leave the host's namespaces, fork the server as the first process of its own, and watch."""
    control = socket.socket(fileno=int(sys.argv[1]))
    parent = begin()
    try:
        uid = spare_uid()
        is_mapped = jail.leave(os.getuid(), os.getgid())
        pid = os.fork()
        if pid == 0:
            _serve(control, uid, is_mapped)
    except BaseException as error:
        tell(control, {"failed": f"{type(error).__name__}: {error}"[:300]})
        os._exit(1)
    control.close()
    watch(pid, parent)


def begin() -> int:
    """What every server does first; a descriptor of its parent."""
    parent = os.pidfd_open(os.getppid())
    os.umask(0o022)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)  # ignored ones are inherited; children are waited for
    sys.path[:] = [path for path in sys.path if path]
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")  # a program that eats the machine's memory goes first, not training
    return parent


def spare_uid() -> int | None:
    """A uid for programs where this is root: one that nobody has, so that counts per uid are this
    server's alone; else nobody's. None where root is all there is, as in some containers.
    """
    if os.getuid() != 0:
        return None
    with open("/proc/self/uid_map") as lines:
        maps = [[int(word) for word in line.split()] for line in lines]
    for wanted in (FIRST_UID + os.getpid(), jail.NOBODY):
        if any(first <= wanted < first + count for first, _, count in maps):
            return wanted
    return None


def _serve(control: socket.socket, uid: int | None, is_mapped: bool) -> None:
    try:
        libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        warm_up()
        jail.build_root()
        socket.sethostname("sandbox")
        gc.freeze()
        become = os.getuid() if is_mapped or uid is None else uid
        by = "a user namespace" if is_mapped else "the right to mount"
        how = f"fork server, namespaces by {by}, programs as uid {become}"
        own = os.pidfd_open(os.getpid())
        serve(control, partial(start, own=own, uid=None if is_mapped else uid), how)
    except BaseException as error:
        with contextlib.suppress(OSError):
            tell(control, {"failed": f"{type(error).__name__}: {error}"[:300]})
    finally:
        os._exit(0)


def watch(server: int, parent: int) -> None:
    """Wait for the end of the server or of the parent; ending here ends the server too."""
    poll = select.poll()
    for fd in (os.pidfd_open(server), parent):
        poll.register(fd, select.POLLIN)
    poll.poll()
    os._exit(0)
