"""Which process holds a run folder, by what its lock file says: a look that takes no lock."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Literal

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


def where_held(folder: Path) -> Literal["here", "elsewhere", ""]:
    """Whether a run goes on in this folder, by a process of this host or of another.

    Of another host's process only its name is known; one of ours that died without clearing its
    name holds nothing.
    """
    pid, host = holder_of(folder)
    if pid <= 0:
        return ""
    if host != socket.gethostname():
        return "elsewhere"
    return "here" if is_alive(pid) else ""


def is_held(folder: Path) -> bool:
    """Whether a run goes on in this folder, as far as can be told."""
    return bool(where_held(folder))
