"""What is brought to the disk at once: whole files, and folders by name."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from evenodds.errors import RunError
from evenodds.machine import explain, system_reason

TEMPORARY = re.compile(r"\.evenodds-tmp-\d+-[0-9a-f]{8}")
ASIDE = ".evenodds-old-"


@contextmanager
def told(path: Path, needed: int = 0) -> Generator[None]:
    """Turn an error of the system into a RunError of one line about `path`."""
    try:
        yield
    except Exception as error:
        if system_reason(error) is None:
            raise
        raise RunError(explain(error, path, needed)) from error


@contextmanager
def told_below(folder: Path) -> Generator[None]:
    """Turn what the system says of a path in `folder` into a RunError of one line about that path.

    For what is read there, and for what somebody takes away while a run goes on.
    """
    try:
        yield
    except OSError as error:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        if not Path(os.path.abspath(name)).is_relative_to(os.path.abspath(folder)) or not name:
            raise
        raise RunError(explain(error, Path(name), verb="use")) from error


def flush(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        with suppress(OSError):  # plain fsync leaves the data in the drive's cache there
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


NO_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems say that have no fsync for folders."""


def flush_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return  # a folder cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        flush(descriptor)
    except OSError as error:
        if error.errno not in NO_FLUSH:
            raise
    finally:
        os.close(descriptor)


def write_new(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        flush(file.fileno())


def temporary(parent: Path) -> Path:  # `recover` clears what a crash leaves under such a name
    return parent / f".evenodds-tmp-{os.getpid()}-{secrets.token_hex(4)}"


def is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def remove(path: Path) -> None:
    """Remove what we made, as far as it goes: a leftover is harmless and goes at the next start."""
    with suppress(OSError):
        shutil.rmtree(path) if is_folder(path) else path.unlink(missing_ok=True)


def remove_file(path: Path) -> None:
    """Remove a file that must not be there from now on; one that is missing is fine."""
    with told(path):
        path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, durably; one that is there stays as it is."""
    with told(path):
        if path.is_dir():
            return
        if path.parent != path:
            make_folder(path.parent)
        path.mkdir(exist_ok=True)
        flush_folder(path.parent)


def as_bytes(data: bytes | str) -> bytes:
    """What `write_file` writes."""
    return data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data


def write_file(path: Path, data: bytes | str) -> None:
    """Write a whole file: afterwards the new text is on the disk, or the old one is untouched."""
    content = as_bytes(data)
    beside = temporary(path.parent)
    with told(path, len(content)):
        try:
            write_new(beside, content)
            os.replace(beside, path)
        except BaseException:
            remove(beside)
            raise
        flush_folder(path.parent)
