"""Files of a run read while they grow: only what was added, and never a half-written line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any, cast

CHUNK = 1 << 20  # bytes read at a time
LONGEST = 64 << 20  # bytes of one line; a longer one is no line of ours
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
            row = _object(line)
            if row is None:
                self.damaged += 1
            else:
                self.take(row)


def _object(line: bytes) -> Row | None:
    """A line as a JSON object, with names that all rows share; None where it is none."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    return {intern(name): value for name, value in cast(dict[str, Any], row).items()}


def step_of(row: Row) -> int | None:
    """The step that a row tells of, None where it names none."""
    step = row.get("step")
    if isinstance(step, bool) or not isinstance(step, int):
        return None
    return step if 0 <= step < 1 << 31 else None
