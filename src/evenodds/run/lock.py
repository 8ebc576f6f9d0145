"""One process at a time on a run: a lock that the system releases when its holder dies."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from evenodds.durable import make_folder
from evenodds.errors import UsageError
from evenodds.machine import explain
from evenodds.records.holder import LOCK, ONLY_THIS, holder_of, own_line, where_held

PATIENCE = 0.3  # seconds in which a new holder has surely written its name
UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


def _lock_natively(descriptor: int) -> bool | None:
    """True: taken. False: another process has it. None: this system or file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far behind the text, which stays readable
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return None
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return None
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def _lock_by_name(path: Path) -> bool:
    """Without locks of the system the file's text decides; a dead holder of this host is none."""
    is_ours = holder_of(path.parent) == (os.getpid(), socket.gethostname())
    return is_ours or not where_held(path.parent)


def _refusal(folder: Path) -> UsageError:
    until = time.monotonic() + PATIENCE
    while not (holder := holder_of(folder))[0] and time.monotonic() < until:
        time.sleep(0.02)
    pid, host = holder
    who = f"process {pid} on {host}" if pid else "another process"
    return UsageError(
        f"the run {str(folder)!r} is in use by {who}. "
        f"Wait until it ends, stop it, or choose another name; "
        f"if it is surely gone, remove {str(folder / LOCK)!r}."
    )


def require_free(folder: Path) -> None:
    """Raise `UsageError` where another process holds the run; costs no import of what trains."""
    if os.path.lexists(folder / LOCK):
        with RunLock(folder):
            pass


def _open(path: Path) -> int:
    """The lock file, made if it is missing. Raises `UsageError` for anything but a plain file.

    A run folder may come from anywhere: a link in it would have us empty the file that it names.
    """
    odd = UsageError(
        f"{str(path)!r} is no plain file, so it cannot lock the run. Move it away and try again."
    )
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise odd
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | ONLY_THIS, 0o644)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise odd
    return descriptor


class RunLock:
    """Holds a run folder for this process: `with RunLock(folder): ...`.

    A second holder is refused at once with a UsageError that names process and host. The file
    stays when the lock is released, for removing it would let two processes hold two files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Take the lock; the folder is made if it is missing."""
        make_folder(self.folder)
        try:
            self._descriptor = _open(self.folder / LOCK)
            self._take()
        except BaseException as error:
            self._close()
            if isinstance(error, OSError):
                raise UsageError(explain(error, self.folder / LOCK)) from error
            raise
        _HELD.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the name and release."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
        self._close()

    def _take(self) -> None:
        taken = _lock_natively(self._descriptor)
        if taken is None:
            taken = _lock_by_name(self.folder / LOCK)
        if not taken:
            raise _refusal(self.folder)
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, own_line().encode())

    def _close(self) -> None:
        _HELD.discard(self)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def forget(self) -> None:
        """In a forked child: close our copy, or an orphaned worker would go on holding the run."""
        with suppress(OSError):
            self._close()


_HELD: weakref.WeakSet[RunLock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in list(_HELD):
        lock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
