"""Files of a run read while they grow: only what was added, and never a half-written line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

CHUNK = 1 << 20  # bytes read at a time
LONGEST = 64 << 20  # bytes of one line; a longer one is no line of ours
Row = Mapping[str, Any]
Seen = tuple[int, int, int]  # inode, size, time of the last change


def seen(path: Path) -> Seen:
    """What tells that a file has changed; zeros where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass
class Lines:
    """The rows of a JSONL file, each read once, in the order of the file.

    A file that became shorter, or was replaced, is read anew: that is what a resumed run does.
    `damaged` counts lines that are no JSON object.
    """

    path: Path
    rows: list[Row] = field(default_factory=list[Row])
    damaged: int = 0
    generation: int = 0  # how often the file was begun anew
    _at: int = 0
    _seen: Seen = (0, 0, 0)

    def refresh(self) -> bool:
        """Read what was added since the last time; whether anything changed."""
        now = seen(self.path)
        if now == self._seen:
            return False
        if now[0] != self._seen[0] or now[1] < self._at:
            self.rows, self.damaged, self._at = [], 0, 0
            self.generation += 1
        try:
            self._read()
        except OSError:  # it went away between the two looks; the next look tells
            return True
        self._seen = now
        return True

    def _read(self) -> None:
        with open(self.path, "rb") as file:
            file.seek(self._at)
            rest = b""
            while chunk := file.read(CHUNK):
                whole, mark, rest = (rest + chunk).rpartition(b"\n")
                self._at += len(whole) + len(mark)
                self._take(whole)
                if len(rest) > LONGEST:
                    return

    def _take(self, text: bytes) -> None:
        for line in text.split(b"\n"):
            if not line.strip():
                continue
            try:
                row: Any = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                self.rows.append(cast(Row, row))
            else:
                self.damaged += 1


def step_of(row: Row) -> int | None:
    """The step that a row tells of, None where it names none."""
    step = row.get("step")
    plain = isinstance(step, int) and not isinstance(step, bool)
    return step if plain and 0 <= step < 1 << 31 else None
