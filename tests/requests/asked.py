"""A command asked inside this process: what it said, how it ended, and what it left on the disk."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from unittest import mock

SECONDS = 20.0  # after which a command counts as hanging


class Hangs(BaseException):
    """The command did not come back in time."""


class GotThrough(BaseException):
    """The command went on to its work: what should have been refused was not."""


@dataclass(frozen=True)
class Answer:
    """code: None where the command hung, raised, or went on to its work, which `raised` tells.

    seconds: of this process's CPU, for other programs may hold the cores.
    """

    code: int | None
    out: str
    err: str
    seconds: float
    changed: tuple[str, ...]
    raised: str = ""

    @property
    def line(self) -> str:
        return self.err.strip("\n")

    def faults(self, codes: Iterable[int] = (2,), says: Iterable[str] = ()) -> list[str]:
        """What is not as promised; empty where it is. says: words of which the line has all."""
        found = [f"raised {self.raised}"] if self.raised else []
        if self.code not in codes:
            found.append(f"exit {self.code}")
        if self.err.count("\n") != 1 or not self.err.startswith("evenodds: "):
            found.append(f"{self.err.count(chr(10))} lines on stderr")
        if "should not happen" in self.err or "Traceback" in self.err:
            found.append("an error that nobody foresaw")
        if any(not char.isprintable() for char in self.line):
            found.append("unprintable characters")
        found += [f"does not say {word!r}" for word in says if word not in self.err]
        found += [f"wrote {name}" for name in self.changed]
        return found


def warm() -> None:
    """Import what every command may need, so that no call is charged for it, or cut in it."""
    from evenodds.policies.load import load_policy
    from evenodds.run.build import policy_options
    from evenodds.run.config import make_config
    from evenodds.run.train import train  # noqa: F401

    import_module("evenodds.run.session")
    import_module("peft")
    load_policy(policy_options(make_config({})))


def seen(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every path below a folder with its kind, size and time of change."""
    found: dict[str, tuple[int, int, int]] = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            state = os.lstat(path)
            inner = (0, 0) if name in folders else (state.st_size, state.st_mtime_ns)
            found[os.path.relpath(path, folder)] = (state.st_mode, *inner)
    return found


@contextmanager
def _limit(seconds: float) -> Generator[None]:
    def ring(number: int, frame: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def streams(stdin: str = "") -> Generator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Standard streams of one's own, as strict about their encoding as real ones."""
    made = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    given = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogateescape")), "utf-8")
    with (
        mock.patch.object(sys, "stdout", made[0]),
        mock.patch.object(sys, "stderr", made[1]),
        mock.patch.object(sys, "stdin", given),
    ):
        yield made[0], made[1]


def ask(
    arguments: Sequence[str],
    folder: Path,
    *,
    watched: Path | None = None,
    stdin: str = "",
    seconds: float = SECONDS,
    works: bool = False,
) -> Answer:
    """Ask `evenodds ARGUMENTS` in a folder. watched: the folder in which changes are looked for.

    works: whether training may begin; else `GotThrough` stands where it would.
    """
    from evenodds.cli import main

    before, here = seen(watched or folder), os.getcwd()
    started, code, raised = time.process_time(), None, ""
    wire = mock.patch("evenodds.run.train._run", side_effect=GotThrough)
    os.chdir(folder)
    try:
        with streams(stdin) as (out, err):
            try:
                with _limit(seconds), nullcontext() if works else wire:
                    code = main(list(arguments))
            except SystemExit as left:  # argparse leaves so after its help
                code = left.code if isinstance(left.code, int) else 1
            except BaseException as error:
                raised = f"{type(error).__name__}: {error}"[:200]
            took = time.process_time() - started
            texts = [_text(stream) for stream in (out, err)]
    finally:
        os.chdir(here)
    changed = _changed(before, seen(watched or folder))
    return Answer(code, texts[0], texts[1], took, changed, raised)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")


def _changed(before: dict[str, object], after: dict[str, object]) -> tuple[str, ...]:
    names = sorted(before.keys() | after.keys())
    return tuple(name for name in names if before.get(name) != after.get(name))
