"""Files of a run read while they grow: only what was added, and never a half-written line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any

from evenodds.records.lines import LONGEST, object_in

CHUNK = 1 << 20  # bytes read at a time
Row = Mapping[str, Any]
Seen = tuple[int, int, int]
NOWHERE: Seen = (0, 0, 0)


def seen(path: Path) -> Seen:
    """What tells that a file has changed: inode, size and time; zeros where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return NOWHERE
    return (found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass
class Lines:
    """The rows of a JSONL file, each given to `take` once, in the order of the file.

    A file that became shorter, or was replaced, is read anew after a call of `restart`: that is
    what a resumed run does to it. `damaged` counts lines that are no JSON object.
    """

    path: Path
    take: Callable[[Row], None]
    restart: Callable[[], None]
    damaged: int = 0
    seen: Seen = NOWHERE
    _at: int = 0

    def refresh(self) -> bool:
        """Read what was added since the last time; whether anything changed."""
        now = seen(self.path)
        if now == self.seen:
            return False
        if now[0] != self.seen[0] or now[1] < self._at:
            self.damaged, self._at = 0, 0
            self.restart()
        try:
            self._read(now[1])
        except OSError:  # it went away between the two looks; the next look tells
            now = NOWHERE
        self.seen = now
        return True

    def _read(self, end: int) -> None:
        """Whole lines up to `end`; what is added meanwhile is the next look's."""
        with open(self.path, "rb") as file:
            file.seek(self._at)
            rest = b""
            while self._at + len(rest) < end and len(rest) <= LONGEST:
                chunk = file.read(min(CHUNK, end - self._at - len(rest)))
                if not chunk:
                    return
                whole, mark, rest = (rest + chunk).rpartition(b"\n")
                self._at += len(whole) + len(mark)
                self._split(whole)

    def _split(self, text: bytes) -> None:
        for line in text.split(b"\n"):
            if not line.strip():
                continue
            row = object_in(line)
            if row is None:
                self.damaged += 1
            else:  # all rows share their names: a long run has few different ones
                self.take({intern(name): value for name, value in row.items()})
