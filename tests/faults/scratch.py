"""A folder for thousands of tiny runs: in memory where there is one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 500_000_000  # bytes that are to be free there


@contextmanager
def scratch() -> Generator[Path]:
    """Its files are brought to no disk, so a power cut is not among what may be asked of them."""
    with tempfile.TemporaryDirectory(dir=_memory(), prefix="evenodds-") as root:
        yield Path(root)


def _memory() -> Path | None:
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return None
    state = os.statvfs(MEMORY)
    return MEMORY if state.f_bavail * state.f_frsize > ROOM else None
