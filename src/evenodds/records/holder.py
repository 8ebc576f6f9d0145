"""Which process holds a run folder, by what its lock file says: a look that takes no lock."""

from __future__ import annotations

import os
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

LOCK = "lock"
LONGEST = 400  # bytes of a lock file that are read; it has one line

ONLY_THIS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Open the file of that name and none that a link leads to, and wait for no other end of a pipe."""


def own_line() -> str:
    """What a holder writes into the lock file: process id, host, and when the process began."""
    return f"{os.getpid()} {socket.gethostname()} {began(os.getpid())}".rstrip() + "\n"


def began(pid: int) -> str:
    """When a process of this host began, in ticks since the machine did; empty where none tells.

    A number of a process is given again after its end, and never with the same beginning.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return text.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def holder_of(folder: Path) -> tuple[int, str]:
    """Process id and host written in the lock file; 0 and an empty host where nothing is."""
    pid, host, _ = _read(folder)
    return pid, host


def _read(folder: Path) -> tuple[int, str, str]:
    """Process id, host, and when it began (empty in files of old versions)."""
    with suppress(OSError, ValueError):
        descriptor = os.open(folder / LOCK, os.O_RDONLY | ONLY_THIS)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return 0, "", ""
            words = os.read(descriptor, LONGEST).decode("utf-8").split()
        finally:
            os.close(descriptor)
        pid, host, start = [*words, "", "", ""][:3]
        return int(pid), host, start
    return 0, "", ""


def is_alive(pid: int) -> bool:
    """Whether a process of this host has this number."""
    if sys.platform == "win32":  # there, signal 0 would not ask but interrupt
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def where_held(folder: Path) -> Literal["here", "elsewhere", ""]:
    """Whether a run goes on in this folder, by a process of this host or of another.

    Of another host's process only its name is known; one of ours that died without clearing its
    name holds nothing, also where another process has its number by now.
    """
    pid, host, start = _read(folder)
    if pid <= 0 or not host:
        return ""
    if host != socket.gethostname():
        return "elsewhere"
    is_another = start != "" and began(pid) not in ("", start)
    return "here" if is_alive(pid) and not is_another else ""


def is_held(folder: Path) -> bool:
    """Whether a run goes on in this folder, as far as can be told."""
    return bool(where_held(folder))
