"""Every call that changes the disk below one folder, counted, and broken at a chosen one.

Calls of Python are caught where Python makes them, in `os` and `io`, so those of pathlib, shutil,
tempfile and json are among them. A write is caught where its buffer goes to the system. Of native
writers only safetensors is caught, as one call; what others do is reached by strace.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import resource
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EFBIG", "EROFS", "EMFILE")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # of such a write a part gets through
BY_NAME = ("replace", "rename", "link", "symlink")  # two names, either of which may lie below
BY_ONE = ("mkdir", "unlink", "remove", "rmdir", "truncate", "ftruncate", "fsync", "fdatasync")
BY_DESCRIPTOR = ("write", "pwrite", "sendfile", "copy_file_range", "posix_fallocate")
NAMED = ("open", "mkdir", "unlink", "remove", "rmdir", *BY_NAME)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True)
class Failpoint:
    """What happens at the call numbered `at`, from 1, of those that change something below `under`.

    action: "kill" dies before the call, in the middle of it where it is a write; "kill-after" right
    after it; the name of an error, such as "ENOSPC", refuses it, and with `for_good` every later
    one; one of `DEEDS` is done before it, and all goes on as it may; "count" lets all pass.
    tally: a file outside of `under` that gets a line for each call.
    """

    at: int
    action: str
    under: Path
    for_good: bool = False
    tally: Path | None = None


def _fill(under: Path) -> None:
    """Leave nothing free on the disk."""
    with suppress(OSError), io.FileIO(under.parent / "ballast", "w") as file:
        while True:
            file.write(bytes(2**12))


def _first_free() -> int:
    """The number that the next file would get."""
    number = os.dup(0)
    os.close(number)
    return number


def _limit(what: int, number: int) -> None:
    resource.setrlimit(what, (number, resource.getrlimit(what)[1]))


def _delete(under: Path) -> None:
    """The run's other thread may make files meanwhile, which is no failure of the call."""
    for _ in range(100):
        shutil.rmtree(under, ignore_errors=True)
        if not under.exists():
            return


DEEDS: dict[str, Callable[[Path], object]] = {  # what may really happen to a disk
    "full": _fill,
    "file size": lambda under: _limit(resource.RLIMIT_FSIZE, 2**13),
    "open files": lambda under: _limit(resource.RLIMIT_NOFILE, _first_free()),
    "deleted": lambda under: _delete(under),
}


def calls(tally: Path) -> list[str]:
    """The calls that a run has made, in order: the name and the path below the folder."""
    return tally.read_text(errors="replace").splitlines() if tally.exists() else []


def install(failpoint: Failpoint) -> Counter:
    """Watch the calls of this process from now on; what it forks is not watched."""
    counter = Counter(failpoint)
    for name in (*BY_NAME, *BY_ONE, *BY_DESCRIPTOR):
        if hasattr(os, name):
            setattr(os, name, counter.watched(name, getattr(os, name)))
    os.open = counter.opening(os.open)
    builtins.open = io.open = _opener(counter, io.open)  # type: ignore[assignment]
    if "safetensors.torch" in sys.modules:
        torch_files: Any = sys.modules["safetensors.torch"]
        torch_files.serialize_file = counter.native(torch_files.serialize_file)
    os.register_at_fork(after_in_child=counter.rest)
    return counter


class Counter:
    """Counts, and breaks. In two threads the numbers are given in the order of the calls."""

    def __init__(self, failpoint: Failpoint) -> None:
        self.failpoint, self.made, self.resting = failpoint, 0, False
        self._under = os.path.realpath(failpoint.under)
        self._lock = threading.Lock()
        self._tally, self._write = -1, os.write
        if failpoint.tally is not None:
            self._tally = os.open(failpoint.tally, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def rest(self) -> None:
        self.resting = True

    def below(self, *names: Any, folder: int | None = None) -> str:
        """The first of the names that lies in the folder, as a path below it; else nothing."""
        if self.resting:
            return ""
        for name in names:
            path = _path(name, folder)
            if path == self._under or path.startswith(self._under + os.sep):
                return os.path.relpath(path, self._under)
        return ""

    def at(self, call: str, where: str) -> int:
        """Count a call: 0 where it may pass, 1 where it is to break, 2 to break after it."""
        with self._lock:
            self.made += 1
            made, point = self.made, self.failpoint
            if self._tally >= 0:
                self._write(self._tally, f"{call} {where}\n".encode(errors="replace"))
        if point.action in DEEDS and made == point.at:
            self.resting = True
            DEEDS[point.action](point.under)
        if point.action in ("count", *DEEDS) or not (
            made == point.at or (point.for_good and made > point.at)
        ):
            return 0
        return 2 if point.action == "kill-after" else 1

    def stop(self, call: str, where: str) -> None:
        """Die, or refuse; as the system does, with a name only where the call was given one."""
        if self.failpoint.action.startswith("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()
        number = getattr(errno, self.failpoint.action)
        name = os.path.join(self._under, where) if call in NAMED else None
        raise OSError(number, os.strerror(number), name)

    def run(self, call: str, where: str, real: Callable[[], Any], half: Callable[[], Any]) -> Any:
        """Make a call, or break it; `half` is the part of a write that gets through."""
        broken = self.at(call, where)
        if broken == 1:
            if self.failpoint.action == "kill" or getattr(errno, self.failpoint.action) in FULL:
                half()
            self.stop(call, where)
        made = real()
        if broken == 2:
            self.stop(call, where)
        return made

    def watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        names = 2 if name in BY_NAME else 1

        def call(*given: Any, **more: Any) -> Any:
            folder = more.get("dir_fd", more.get("src_dir_fd"))
            where = self.below(*given[:names], folder=folder)
            if not where:
                return real(*given, **more)
            part: Callable[[], Any] = lambda: None  # noqa: E731
            if name == "write":
                part = lambda: real(given[0], _half(given[1]))  # noqa: E731
            return self.run(name, where, lambda: real(*given, **more), part)

        return call

    def opening(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *more: Any, dir_fd: int | None = None, **named: Any) -> int:
            def pass_on() -> int:
                return real(path, flags, *more, dir_fd=dir_fd, **named)

            where = self.below(path, folder=dir_fd) if flags & WRITING else ""
            return self.run("open", where, pass_on, lambda: None) if where else pass_on()

        return call

    def native(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """safetensors: it says what the system refused in words of its own."""
        from safetensors import SafetensorError

        def call(tensors: Any, path: Any, *more: Any, **named: Any) -> Any:
            def half() -> None:
                real(tensors, path, *more, **named)
                with open(path, "r+b", buffering=0) as file:
                    file.truncate(os.path.getsize(path) // 2)

            def pass_on() -> Any:
                return real(tensors, path, *more, **named)

            where = self.below(path)
            if not where:
                return pass_on()
            try:
                return self.run("safetensors", where, pass_on, half)
            except OSError as error:
                told = f"I/O error: {error.strerror} (os error {error.errno})"
                raise SafetensorError(f"Error while serializing: {told}") from None

        return call


def _path(name: Any, folder: int | None) -> str:
    """The real path of what a call was given: a name, one below an open folder, a descriptor."""
    if isinstance(name, int):
        try:
            return os.readlink(f"/proc/self/fd/{name}").removesuffix(" (deleted)")
        except OSError:
            return ""
    text = os.fsdecode(name)
    if folder is not None and not os.path.isabs(text):
        text = os.path.join(_path(folder, None), text)
    above, last = os.path.split(os.path.abspath(text))
    return os.path.join(os.path.realpath(above), last)


def _half(data: Any) -> bytes:
    whole = bytes(data)
    return whole[: len(whole) // 2]


def _opener(counter: Counter, real: Callable[..., Any]) -> Callable[..., Any]:
    """`open` whose files tell of each write that reaches the system."""

    class Raw(io.FileIO):
        where = ""

        def write(self, data: Any) -> int:  # type: ignore[override]
            up, half = super().write, _half(data)
            return counter.run("write", self.where, lambda: up(data), lambda: up(half))

        def truncate(self, size: int | None = None) -> int:  # type: ignore[override]
            up = super().truncate
            return counter.run("truncate", self.where, lambda: up(size), lambda: None)

    def call(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        more = (encoding, errors, newline)
        where = counter.below(file) if set(mode) & set("wax+") else ""
        if not where:
            return real(file, mode, buffering, *more, closefd, opener)
        plain = mode.replace("b", "").replace("t", "")
        made: Callable[[], Raw] = lambda: Raw(file, plain, closefd, opener)  # noqa: E731
        known = isinstance(file, int) or opener is not None  # open already, or seen in os.open
        raw = made() if known else counter.run("open", where, made, lambda: None)
        raw.where = counter.below(raw.fileno()) or where
        return _layers(raw, mode, buffering, more)

    return call


def _layers(raw: io.FileIO, mode: str, buffering: int, more: tuple[Any, Any, Any]) -> Any:
    """The layers that `open` puts upon a file: a buffer, and text."""
    if buffering == 0:
        return raw
    size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
    kind = io.BufferedRandom if "+" in mode else io.BufferedWriter
    buffered = kind(raw, size)
    if "b" in mode:
        return buffered
    return io.TextIOWrapper(buffered, *more, line_buffering=buffering == 1)
