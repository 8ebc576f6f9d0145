"""In a shut-in child: put the program's files into its folder, run it as a script, and end."""

from __future__ import annotations

import atexit
import fcntl
import importlib.util
import json
import os
import random
import site
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import NoReturn, TextIO, cast

PROGRAM = "main.py"


STARTED = b"started"


def live(fds: list[int], shut: Callable[[], None], seed: int) -> NoReturn:
    """The whole life of a child: shut it in, say so, run its program, and end.

    fds: the job, where to tell how it began, then the program's descriptors from 0 on.
    """
    code = 1
    try:
        job, told, *own = in_order(fds)
        try:
            shut()
            write_files(job)
        except BaseException as error:
            os.write(told, f"{type(error).__name__}: {error}".encode()[:300])
            os._exit(1)
        os.write(told, STARTED)
        os.closerange(len(own), 4096)
        code = run(seed)
    finally:
        os._exit(code)


def streams() -> None:
    """Standard streams over descriptors 0, 1 and 2, as a fresh interpreter would have them."""
    sys.stdin = sys.__stdin__ = _stream(0, "r", "surrogateescape")
    sys.stdout = sys.__stdout__ = _stream(1, "w", "surrogateescape")
    sys.stderr = sys.__stderr__ = _stream(2, "w", "backslashreplace")


def _stream(fd: int, mode: str, errors: str) -> TextIO:
    return cast(TextIO, open(fd, mode, encoding="utf-8", errors=errors, closefd=False))


def in_order(fds: list[int]) -> list[int]:
    """Move `fds[2:]` to 0, 1, 2, …, the first two behind them; close all else."""
    count = len(fds)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, count) for fd in fds]  # out of each other's way
    places = [count - 2, count - 1, *range(count - 2)]
    for fd, place in zip(high, places, strict=True):
        os.dup2(fd, place)
    os.closerange(count, 4096)
    return places


def write_files(fd: int) -> None:
    """Read the job {name: text} from `fd` and write it into the current folder."""
    with open(fd, "rb", closefd=False) as file:
        job: dict[str, str] = json.load(file)
    for name, text in job.items():
        with open(name, "w", encoding="utf-8", errors="surrogatepass") as out:
            out.write(text)


def run(seed: int) -> int:
    """Run the program as `__main__`; its exit code. What it left to do at its end is done."""
    streams()
    site.setquit()  # exit() and quit(), which an interpreter started without site lacks
    site.sethelper()
    random.seed(seed)
    sys.argv, sys.path[:0] = [PROGRAM], [os.getcwd()]
    code = _guarded()
    with suppress(BaseException):
        getattr(threading, "_shutdown", int)()  # waits for its threads, as an interpreter does
    with suppress(BaseException):
        getattr(atexit, "_run_exitfuncs", int)()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
    return code


def _as_main() -> None:
    spec = importlib.util.spec_from_file_location("__main__", PROGRAM)
    if spec is None or spec.loader is None:
        raise ImportError(PROGRAM)
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["__main__"] = module
    spec.loader.exec_module(module)


def _guarded() -> int:
    try:
        _as_main()
    except SystemExit as end:
        return _exit_code(end.code)
    except BaseException as error:  # whatever it raises is the end of the program, not of this file
        with suppress(BaseException):
            traceback.print_exception(_without_ours(error), limit=-8)
        return 1
    return 0


def _without_ours(error: BaseException) -> BaseException:
    """The exception with a traceback that begins in the program."""
    trace = error.__traceback__
    while trace is not None and os.path.basename(trace.tb_frame.f_code.co_filename) != PROGRAM:
        trace = trace.tb_next
    return error.with_traceback(trace)


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    with suppress(BaseException):
        sys.stderr.write(f"{code}\n")
    return 1
