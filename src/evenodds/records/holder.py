"""Which process holds a run folder, by what its lock file says: a look that takes no lock."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

LOCK = "lock"


def holder_of(folder: Path) -> tuple[int, str]:
    """Process id and host written in the lock file; 0 and an empty host where nothing is."""
    try:
        pid, _, host = (folder / LOCK).read_text(encoding="utf-8").strip().partition(" ")
        return int(pid), host
    except (OSError, ValueError):
        return 0, ""


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


def is_held(folder: Path) -> bool:
    """Whether a run goes on in this folder. Of another host's process only its name is known."""
    pid, host = holder_of(folder)
    return pid > 0 and (host != socket.gethostname() or is_alive(pid))
