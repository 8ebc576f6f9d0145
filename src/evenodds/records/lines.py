"""Files of JSON lines and JSON objects in a run folder; what is damaged in them is left out."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

Row = dict[str, Any]
TOGETHER = 1 << 18  # bytes of lines that are read as one list
END = 1 << 16  # bytes at the end of a file that hold its last line
LONGEST = 64 << 20  # bytes of one line; a longer one is no line of ours
LAST_STEP = 1 << 31  # beyond it a number is no step


def _plain(path: str, flags: int) -> int:
    """An opener for `open` that takes files alone: a pipe would be waited for without end."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(f"{path!r} is no file")


def object_in(text: str | bytes) -> Row | None:
    """A JSON object; None for anything else, also for what is nested beyond reason."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast(Row, found) if isinstance(found, dict) else None


def step_of(row: Mapping[str, Any]) -> int | None:
    """The step that a row tells of, None where it names none."""
    step = row.get("step")
    if isinstance(step, bool) or not isinstance(step, int):
        return None
    return step if 0 <= step < LAST_STEP else None


def rows_of(path: Path) -> Iterator[Row]:
    """The lines of a file one by one; torn ones are left out, and a missing file has none."""
    with suppress(OSError), open(path, "rb", opener=_plain) as file:
        lines, size = list[bytes](), 0
        for line in _bounded(file):
            lines.append(line)
            size += len(line)
            if size > TOGETHER:
                yield from _objects(lines)
                lines, size = [], 0
        yield from _objects(lines)


def _objects(lines: Sequence[bytes]) -> list[Row]:
    """The objects of some lines. Read as one list they share their keys: half the memory of a long
    file, and more than that of its time. One line that is torn and they are read one by one.
    """
    texts = [line.decode("utf-8", "replace").strip() for line in lines]
    if all(text.startswith("{") and text.endswith("}") for text in texts):
        with suppress(ValueError, RecursionError):
            found: Any = json.loads(f"[{','.join(texts)}]")
            if len(found) == len(texts) and all(isinstance(row, dict) for row in found):
                return found
    return [row for text in texts if (row := object_in(text)) is not None]


def _bounded(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file, but for those that are no lines of ours."""
    is_torn = False
    while piece := file.readline(LONGEST):
        is_end = piece.endswith(b"\n") or len(piece) < LONGEST
        if is_end and not is_torn:
            yield piece
        is_torn = not is_end


def by_step(path: Path) -> list[Row]:
    """The lines that tell of a step, in the order of steps; of one that was repeated, the last."""
    found = {step: row for row in rows_of(path) if (step := step_of(row)) is not None}
    return [found[step] for step in sorted(found)]


def last_row(path: Path) -> Row:
    """The last whole line, an empty one where there is none. Only the end of the file is read."""
    try:
        with open(path, "rb", opener=_plain) as file:
            file.seek(max(0, path.stat().st_size - END))
            lines = file.read(2 * END).split(b"\n")
    except OSError:
        return {}
    return next((row for line in reversed(lines[:-1]) if (row := object_in(line)) is not None), {})


def looks_whole(path: Path) -> bool:
    """Whether a file begins and ends as an object does; only its ends are read."""
    try:
        with open(path, "rb", opener=_plain) as file:
            first = file.read(END).lstrip()
            file.seek(max(0, path.stat().st_size - END))
            return first.startswith(b"{") and file.read(2 * END).rstrip().endswith(b"}")
    except OSError:
        return False


def read_object(path: Path, most: int | None = None) -> Row:
    """The JSON object in a file, an empty one where there is none. most: bytes that are read."""
    try:
        if most is not None and path.stat().st_size > most:
            return {}
        with open(path, "rb", opener=_plain) as file:
            return object_in(file.read()) or {}
    except OSError:
        return {}
