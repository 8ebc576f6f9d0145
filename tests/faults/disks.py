"""Disks of one's own: images on loop devices, small memory disks; for root on Linux only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.faults import recorder

MB = 2**20
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Kind:
    """A file system. harsh: mount options under which a missing fsync is not made up for."""

    name: str
    make: Sequence[str]
    megabytes: int
    harsh: str


KINDS = {
    kind.name: kind
    for kind in (
        Kind("ext4", ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"), 128,
             "commit=300,data=ordered,noauto_da_alloc"),
        Kind("xfs", ("mkfs.xfs", "-q", "-f"), 320, "noatime"),
        Kind("btrfs", ("mkfs.btrfs", "-q", "-f"), 256, "commit=300"),
    )
}  # fmt: skip


@cache
def why_not(kind: str = "ext4", recorded: bool = True) -> str:
    """Why such a disk cannot be had here; empty where it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "loop devices need root on Linux"
    if shutil.which(KINDS[kind].make[0]) is None:
        return f"no {KINDS[kind].make[0]} here"
    if recorded and not Path("/dev/fuse").exists():
        return "no /dev/fuse here"
    try:
        with tempfile.TemporaryDirectory() as folder:
            image = Path(folder) / "image"
            fresh(image, kind)
            with mounted(image, Path(folder) / "point"):
                pass
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no loop device with {kind} here: {error}"
    return ""


@cache
def why_no_memory_disk() -> str:
    """Why no small memory disk can be mounted here; empty where it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a small disk needs root on Linux"
    try:
        with tempfile.TemporaryDirectory() as folder, memory_disk(Path(folder), MB):
            pass
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no tmpfs can be mounted here: {error}"
    return ""


def call(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, str(words), done.stdout, done.stderr)
    return done.stdout


def fresh(image: Path, kind: str) -> None:
    """An empty file system in a new file."""
    with open(image, "wb") as file:
        file.truncate(KINDS[kind].megabytes * MB)
    call(*KINDS[kind].make, image)


@contextmanager
def mounted(image: Path, point: Path, options: str = "rw") -> Generator[Path]:
    """A file system of an image; its journal is read first, as after a power cut."""
    point.mkdir(exist_ok=True)
    call("mount", "-o", f"loop,{options}", image, point)
    try:
        yield point
    finally:
        unmount(point)


@contextmanager
def memory_disk(point: Path, size: int, *options: str) -> Generator[Path]:
    """A disk of so many bytes. options: of tmpfs, such as `ro`."""
    point.mkdir(exist_ok=True)
    call("mount", "-t", "tmpfs", "-o", ",".join((f"size={size}", *options)), "tmpfs", point)
    try:
        yield point
    finally:
        unmount(point)


def unmount(point: Path) -> None:
    """Also where a process that ends has not yet let go."""
    for pause in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        try:
            call("umount", point)
            return
        except subprocess.CalledProcessError:
            time.sleep(pause)
    call("umount", "-l", point)


@contextmanager
def recorded(image: Path, folder: Path, options: str) -> Generator[Path]:
    """The same, on a disk that writes down in `folder/record` what it is told."""
    below, point, record = folder / "below", folder / "point", folder / "record"
    for path in (below, point):
        path.mkdir(exist_ok=True)
    record.unlink(missing_ok=True)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.recorder", below, image, record], cwd=ROOT
    )
    try:
        _wait_for(below / recorder.NAME, server)
        with mounted(below / recorder.NAME, point, options):
            yield point
    finally:
        unmount(below)
        server.wait(20)


def _wait_for(path: Path, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 20
    while not path.exists():
        if server.poll() is not None or time.monotonic() > until:
            raise OSError(f"the disk that records did not start: {server.returncode}")
        time.sleep(0.01)
