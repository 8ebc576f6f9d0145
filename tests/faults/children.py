"""Commands of evenodds in children that may be killed: each starts in a tenth of a second.

A fork server has imported torch and all that `train` needs; a child is a fork of it, so it is a
process of its own with descriptors, signals and a death of its own, and costs no imports. What
depends on a fresh Python (its start, and its end) is tried on the real command instead.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tests.faults.small import SETTINGS, small_policy, small_task

if TYPE_CHECKING:
    from tests.faults.failpoints import Failpoint

ROOT = Path(__file__).parents[2]
MARK = "EVENODDS_TEST_CHILD"
"""A variable that a child and all it starts have, so that what outlives it can be counted."""


@dataclass(frozen=True)
class Ended:
    """code: the exit code, negative for a signal. seconds: from the start to the end."""

    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True)
class Child:
    """A command at work. Its output is in the files `out` and `err` of `folder`."""

    process: ForkServerProcess
    folder: Path
    started: float

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    @property
    def mark(self) -> str:
        return str(self.folder)

    @property
    def is_running(self) -> bool:
        return self._code() is None

    def _code(self) -> int | None:
        """Its exit code, once it has ended. One thread at a time: it can be read only once."""
        with _starting:
            return self.process.exitcode

    def said(self) -> str:
        """What it has said on stderr so far."""
        return _text(self.folder / "err")

    def signal(self, number: int) -> None:
        """Nothing where it has ended."""
        if self.is_running:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    def wait(self, seconds: float = 60.0) -> Ended:
        """How it ended. One that does not end in time is killed, and that is a `TimeoutError`."""
        connection.wait([self.process.sentinel], max(0.0, seconds))
        code, took = self._code(), time.monotonic() - self.started
        if code is None:
            self.kill()
            connection.wait([self.process.sentinel])
            raise TimeoutError(f"no end within {seconds:.1f} s. It said: {self.said()[-2000:]}")
        return Ended(code, _text(self.folder / "out"), self.said(), took)


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def start(
    arguments: Sequence[str],
    folder: Path,
    failpoint: Failpoint | None = None,
    before: Callable[[], None] | None = None,
    within: Path | None = None,
) -> Child:
    """`evenodds ARGUMENTS` in a child whose output goes to files below `folder`, made if missing.

    before: is called in the child first; a function of a module, for it is sent by its name.
    within: the folder that it works in, where that is not the server's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    process = _server().Process(
        target=_live, args=(list(arguments), folder, failpoint, before, within), daemon=True
    )
    started = time.monotonic()
    with _without_main():
        process.start()
    return Child(process, folder, started)


def run(arguments: Sequence[str], folder: Path, seconds: float = 60.0) -> Ended:
    """A command from its start to its end."""
    return start(arguments, folder).wait(seconds)


def _live(
    arguments: list[str],
    folder: Path,
    failpoint: Failpoint | None,
    before: Callable[[], None] | None,
    within: Path | None,
) -> None:
    if within is not None:
        os.chdir(within)
    os.environ[MARK] = str(folder)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as `evenodds.__main__` has it
    for number, name in ((1, "out"), (2, "err")):
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(descriptor, number)
        os.close(descriptor)
        setattr(sys, f"std{name}", os.fdopen(number, "w", 1, closefd=False))
    sys.argv = ["evenodds", *arguments]
    if before is not None:
        before()
    if failpoint is not None:
        from tests.faults import failpoints

        failpoints.install(failpoint)
    from evenodds.cli import main

    sys.exit(main(arguments))


_started: ForkServerContext | None = None


def _server() -> ForkServerContext:
    """The fork server, which starts with the first child; it ends with this process."""
    global _started
    if _started is None:
        made = multiprocessing.get_context("forkserver")
        made.set_forkserver_preload(["tests.faults.warm"])
        with _environment():
            from multiprocessing import forkserver

            forkserver.ensure_running()
        _started = made
    return _started


_starting = threading.Lock()


@contextmanager
def _without_main() -> Generator[None]:
    """A child runs the main module of its parent again, which is of no use to it here."""
    with _starting:
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


@contextmanager
def _environment() -> Generator[None]:
    """What the server, and so each child, is started with."""
    given = {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
    }
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def tiny(root: Path, name: str, **settings: Any) -> list[str]:
    """The arguments of a `train` below `root` that takes half a second: four steps, each saved.

    settings: others than those of `small.SETTINGS`, such as `run__steps=6`; None leaves one out.
    """
    chosen = SETTINGS | {key.replace("__", "."): value for key, value in settings.items()}
    chosen |= small_task(root) | {"policy.name": small_policy(root)}
    chosen |= {key.replace("__", "."): value for key, value in settings.items()}
    flags = [("--run.root", root), ("--run.name", name)]
    flags += [(f"--{key}", value) for key, value in chosen.items() if value is not None]
    return ["train", *(str(part) for pair in flags for part in pair)]


def alive(mark: str) -> list[int]:
    """The processes whose environment says that they belong to this child, itself apart.

    A forked child has its server's environment, so it is what it started by itself that is found.
    """
    wanted = f"{MARK}={mark}".encode()
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
