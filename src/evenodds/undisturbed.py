"""A person's own code in our process: what it changes there is put back, and told.

A run has to come to the same bits whatever a verifier does beside its answer. So what decides bits,
files and streams is read before a person's code is called, and compared afterwards. What cannot be
put back, such as a process that is left or memory that is written to, wants a worker process:
docs/judge.md has the table.
"""

from __future__ import annotations

import decimal
import gc
import locale
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TextIO, cast

import numpy as np

from evenodds.own import quiet

LEFT_OPEN = 16  # files more than before one call; threads of ours open some meanwhile
DECIMAL = attrgetter("prec", "rounding", "Emin", "Emax", "clamp")
HANDLED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "CUBLAS_WORKSPACE_CONFIG",
)
"""Variables of the environment that decide how torch computes."""


@dataclass(frozen=True)
class Part:
    """Something of the process that code may change. name: as a person calls it."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _decimals() -> tuple[Any, ...]:
    found = decimal.getcontext()
    return (*DECIMAL(found), dict(found.traps))


def _set_decimals(values: Sequence[Any]) -> None:
    found = decimal.getcontext()
    found.prec, found.rounding, found.Emin, found.Emax, found.clamp, found.traps = values


def _variables() -> tuple[str | None, ...]:
    return tuple(map(os.environ.get, VARIABLES))


def _set_variables(values: Sequence[str | None]) -> None:
    for name, value in zip(VARIABLES, values, strict=True):
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _flushes() -> bool:
    """Whether the smallest numbers count as 0 in this thread, of which nothing else tells."""
    return bool(np.float32(1e-45) * np.float32(1) == 0)


PYTHON = (
    Part(
        "the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit
    ),  # first: all needs it
    Part("the working folder", _folder, lambda to: to and os.chdir(to)),
    Part("garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    Part(
        "the locale",
        lambda: locale.setlocale(locale.LC_ALL),
        lambda to: locale.setlocale(locale.LC_ALL, to),
    ),
    Part("the context of decimals", _decimals, _set_decimals),
    Part("the errors of numpy", np.geterr, lambda to: np.seterr(**to)),
    Part("variables of the environment", _variables, _set_variables),
)


def _handlers() -> tuple[Any, ...]:
    numbers = [getattr(signal, name) for name in HANDLED if hasattr(signal, name)]
    return tuple((number, signal.getsignal(number)) for number in numbers)


def _handle(handlers: Sequence[Any]) -> None:
    for number, handler in handlers:
        if handler is not None:  # one that was not set from Python cannot be set again
            signal.signal(number, handler)


def _end_timer(is_on: bool) -> None:
    if not is_on:  # one that was on and ran out is its owner's to set again
        signal.setitimer(signal.ITIMER_REAL, 0)


def _signals() -> Sequence[Part]:
    """What the main thread alone can put back."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    found = [Part("the handlers of signals", _handlers, _handle)]
    if hasattr(signal, "pthread_sigmask"):
        found += [
            Part(
                "signals that are held up",
                lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
                lambda to: signal.pthread_sigmask(signal.SIG_SETMASK, to),
            ),
            Part("a timer", lambda: signal.getitimer(signal.ITIMER_REAL)[0] > 0, _end_timer),
        ]
    return found


def _limits() -> Sequence[Part]:
    """How much a process may have, where the system has such limits."""
    if sys.platform == "win32":
        return ()
    import resource

    kinds = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS)

    def write(values: Sequence[tuple[int, int]]) -> None:
        for kind, value in zip(kinds, values, strict=True):
            with suppress(OSError, ValueError):  # a hard limit that was lowered stays so
                resource.setrlimit(kind, value)

    return [Part("the limits of the process", lambda: [*map(resource.getrlimit, kinds)], write)]


@cache
def _of_torch() -> Sequence[Part]:
    """What decides the bits of torch, where it has been imported."""
    import torch

    entered: list[Any] = []

    def set_device(to: Any) -> None:
        torch.set_default_device(None if to.type == "cpu" else to)

    def autocast() -> tuple[bool, bool]:
        return torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")

    def set_autocast(to: tuple[bool, bool]) -> None:
        torch.set_autocast_enabled("cpu", to[0])
        torch.set_autocast_enabled("cuda", to[1])

    def set_inference(to: bool) -> None:
        mode = torch.inference_mode(to)
        mode.__enter__()
        entered.append(mode)  # it ends with its object

    def deterministic() -> tuple[bool, bool]:
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )

    return [
        Part("torch's gradients", torch.is_grad_enabled, torch.set_grad_enabled),
        Part("torch's default type", torch.get_default_dtype, torch.set_default_dtype),
        Part("torch's default device", torch.get_default_device, set_device),
        Part("torch's threads", torch.get_num_threads, torch.set_num_threads),
        Part("torch's autocast", autocast, set_autocast),
        Part("torch's inference mode", torch.is_inference_mode_enabled, set_inference),
        Part(
            "torch's deterministic algorithms",
            deterministic,
            lambda to: torch.use_deterministic_algorithms(to[0], warn_only=to[1]),
        ),
        Part(
            "torch's precision of products",
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
        ),
        Part("torch's anomaly mode", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
        Part(
            "torch's use of oneDNN",
            lambda: torch.backends.mkldnn.enabled,
            torch.backends.mkldnn.set_flags,
        ),
        Part("numbers next to 0", _flushes, torch.set_flush_denormal),
    ]


def _parts() -> list[Part]:
    # torch half imported by another thread has no functions yet
    is_there = hasattr(sys.modules.get("torch"), "set_flush_denormal")
    return [*PYTHON, *(_of_torch() if is_there else ())]


def _umask() -> int:
    """What the rights of new files lack. It is read by setting it: for less than a microsecond a
    file that another thread makes would be its owner's alone.
    """
    found = os.umask(0o077)
    os.umask(found)
    return found


def _more() -> list[Part]:
    """What is not read for functions that are called for every group."""
    return [Part("the umask", _umask, os.umask), *_signals(), *_limits()]


class Speech:
    """Standard error, for code of a person's: it cannot be closed, and else is what it was."""

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath

    def close(self) -> None:
        """It is not theirs."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


def _is_same(descriptor: int, copy: int) -> bool:
    try:
        now, before = os.fstat(descriptor), os.fstat(copy)
    except OSError:
        return False
    return (now.st_dev, now.st_ino, now.st_rdev) == (before.st_dev, before.st_ino, before.st_rdev)


def _put_back(descriptor: int, copy: int) -> None:
    """What a standard stream led to before; nowhere, if that was closed too."""
    try:
        os.dup2(copy, descriptor)
    except OSError:
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)


@contextmanager
def _streams(changed: list[str]) -> Generator[None]:
    """Keep the standard streams, and what their descriptors lead to; told as one part."""
    before = sys.stdout, sys.stderr
    copies: dict[int, int] = {}
    for descriptor in (0, 1, 2):
        with suppress(OSError):  # it is closed, as that of a service may be
            copies[descriptor] = os.dup(descriptor)
    sys.stderr = given = sys.stderr and cast(TextIO, Speech(sys.stderr))
    try:
        with quiet():
            yield
    finally:
        gone = [one for one, copy in copies.items() if not _is_same(one, copy)]
        for descriptor, copy in copies.items():
            if descriptor in gone:
                _put_back(descriptor, copy)
            with suppress(OSError):
                os.close(copy)
        if gone or sys.stderr is not given:
            changed.append("the standard streams")
        sys.stdout, sys.stderr = before


@contextmanager
def _kept(parts: Sequence[Part], changed: list[str]) -> Generator[None]:
    """Put back what is another value behind the block; its names are added to `changed`."""
    values = [part.read() for part in parts]
    try:
        yield
    finally:
        for part, value in zip(parts, values, strict=True):
            if part.read() != value:
                with suppress(OSError, ValueError):  # the folder is gone, say
                    part.write(value)
                changed.append(part.name)


def end_child_of(owner: int) -> None:
    """End this process if a person's code has forked it and it comes back: as a second run, and a
    third behind its next answer."""
    if os.getpid() != owner:
        os._exit(0)


@contextmanager
def _at_home() -> Generator[None]:
    """See `end_child_of`."""
    owner = os.getpid()
    try:
        yield
    finally:
        end_child_of(owner)


@contextmanager
def kept(who: str) -> Generator[None]:
    """While a function of a person's computes with our tensors: what decides bits is put back.

    who: as a person calls it, for the line that tells of a change.
    """
    changed: list[str] = []
    try:
        with _at_home(), _kept(_parts(), changed), quiet():
            yield
    finally:
        _tell(who, changed)


@contextmanager
def undisturbed(who: str) -> Generator[None]:
    """While a person's code judges: as `kept`, and streams, signals, limits and the umask as well.

    What it prints goes to stderr. What it leaves behind is told: open files, and threads for which
    Python waits at its end. It costs about a tenth of a millisecond.
    """
    files, threads = _open_files(), {*threading.enumerate()}
    changed: list[str] = []
    try:
        with _at_home(), _kept([*_parts(), *_more()], changed), _streams(changed):
            yield
    finally:
        _tell(who, changed, _left_behind(files, threads))


def _left_behind(files: int, threads: set[threading.Thread]) -> list[str]:
    """What is to be told of files and threads that there are more of than before."""
    left: list[str] = []
    if _open_files() - files > LEFT_OPEN:
        left.append("leaves files open: the run ends once there are too many")
    if any(not one.daemon for one in {*threading.enumerate()} - threads):
        left.append("leaves a thread running, for which Python waits at its end: make it a daemon")
    return left


def _open_files() -> int:
    """How many descriptors this process has; 0 where nothing says so."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


_told: set[tuple[str, str]] = set()


def _tell(who: str, changed: Sequence[str], left: Sequence[str] = ()) -> None:
    """Lines on stderr, the first time that this code changes a part or leaves a thing behind."""
    new = [what for what in (*changed, *left) if (who, what) not in _told]
    _told.update((who, what) for what in new)
    parts = ", ".join(part for part in changed if part in new)
    lines = [f"changed {parts}; that was put back"] if parts else []
    for line in (*lines, *(thing for thing in left if thing in new)):
        with suppress(OSError, ValueError, AttributeError):  # closed, or none
            sys.stderr.write(f"evenodds: {who} {line}.\n")
