"""One hostile thing given to one command: how it ended, what it said, how much it took."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults.children import start
from tests.hostile.folders import HARMLESS, REFUSED, Change, make

SECONDS, BYTES = 60.0, 2 * 2**30


@dataclass(frozen=True)
class Tried:
    """code: None where it did not end in time. peak: bytes of memory."""

    code: int | None
    out: str
    err: str
    seconds: float
    peak: int

    @property
    def is_one_line(self) -> bool:
        return self.err.count("\n") == 1 and self.err.startswith("evenodds: ") and not self.out


def _peak(pid: int) -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return 0


def tried(
    arguments: Sequence[str],
    folder: Path,
    seconds: float = SECONDS,
    before: Callable[[], None] | None = None,
) -> Tried:
    """`evenodds ARGUMENTS`, killed where it takes longer, or more memory than twice what it may."""
    child = start(arguments, folder, before=before)
    peak, end = 0, time.monotonic() + seconds
    while child.is_running and time.monotonic() < end and peak < 2 * BYTES:
        peak = max(peak, _peak(child.pid))
        child.process.join(0.01)
    if child.is_running:
        child.kill()
        child.wait(10)
        return Tried(None, "", child.said(), seconds, peak)
    ended = child.wait(0)
    return Tried(ended.code, ended.out, ended.err, ended.seconds, peak)


def fault_of(name: str, change: Change, root: Path, command: str = "chat") -> str:
    """What is wrong with how a hostile folder was met, or nothing."""
    place = make(root, change)
    found = tried([command, str(place.folder)], root / "said")
    told = f"{name}: code {found.code}, {found.seconds:.1f} s, {found.peak >> 20} MB: "
    if place.canary.exists():
        return told + "its code was run"
    refused = found.code == 2 and found.is_one_line
    if name in REFUSED and not refused:
        return told + found.err[-300:]
    if name in HARMLESS and not (refused or found.code == 0):
        return told + found.err[-300:]
    secret = (place.outside / "config.json").read_text()[:40]
    if "root:" in found.err or secret in found.err:
        return told + "it was read outside of the folder"
    return told + "too much memory" if found.peak > BYTES else ""


def faults(names: Iterable[str], command: str = "chat") -> Iterator[str]:
    """What is wrong with each, two at a time; an empty text for each that was met well."""
    all_of = REFUSED | HARMLESS

    def one(name: str) -> str:
        with tempfile.TemporaryDirectory(prefix="evenodds-hostile-") as root:
            return fault_of(name, all_of[name], Path(root), command)

    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(one, names)
