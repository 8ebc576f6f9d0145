"""A file of JSON lines that grows step by step, and is cut back where steps are taken again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from evenodds.durable.disk import flush, flush_folder, told
from evenodds.errors import RunError

PIECE = 1 << 20  # bytes that are read at once


def _line(record: Mapping[str, Any]) -> bytes:
    """One line of strict JSON: NaN and the infinities, which it does not know, become null."""
    known = json.loads(json.dumps(record), parse_constant=lambda _: None)
    return json.dumps(known, separators=(",", ":")).encode() + b"\n"


def _whole_length(file: IO[bytes]) -> int:
    """Length up to the end of the last whole line."""
    length = file.seek(0, os.SEEK_END)
    if not length:
        return 0
    file.seek(length - 1)
    if file.read(1) == b"\n":
        return length
    file.seek(0)
    return file.read(length).rfind(b"\n") + 1


@dataclass(frozen=True)
class Start:
    """The first bytes of a file that grows. sha256: of them; None where nobody wrote it down."""

    length: int
    sha256: str | None = None


@dataclass
class Running:
    """The SHA-256 of a file that grows: each call reads only what came since the one before."""

    path: Path
    length: int = 0
    _sum: Any = field(default_factory=hashlib.sha256)

    def through(self, length: int) -> Start:
        """The file up to this length. Raises `RunError` where it is less than the call before."""
        if length > self.length:
            with open(self.path, "rb") as file:
                file.seek(self.length)
                while self.length < length:
                    piece = file.read(min(PIECE, length - self.length))
                    if not piece:
                        raise self._shorter()
                    self._sum.update(piece)
                    self.length += len(piece)
        if length < self.length:
            raise self._shorter()
        return Start(length, self._sum.hexdigest())

    def _shorter(self) -> RunError:
        return RunError(
            f"{str(self.path)!r} has become shorter while the run goes on. "
            "Leave the run's files alone, and take it up again."
        )


@dataclass(frozen=True)
class AppendLog:
    """A file of JSON lines (metrics.jsonl). No descriptor stays open between the calls.

    At a checkpoint: `length = log.sync()`, and the length goes into the checkpoint. At a resume:
    `log.truncate_to(length)`, so that the steps that are done again are not there twice.
    """

    path: Path

    def append(self, record: Mapping[str, Any], sync: bool = False) -> int:
        """Add one line and return the new length in bytes. NaN and infinities become null.

        A torn last line, left by a crash or a failed write, goes first.
        """
        line = _line(record)
        with told(self.path, len(line)), open(self.path, "a+b") as file:
            before = file.truncate(_whole_length(file))
            file.write(line)
            file.flush()
            if sync:
                flush(file.fileno())
            return before + len(line)

    def sync(self) -> int:
        """Bring all lines to the disk and return the length in bytes that is safe from now on."""
        with told(self.path), open(self.path, "a+b") as file:
            length = file.truncate(_whole_length(file))
            flush(file.fileno())
            flush_folder(self.path.parent)
            return length

    def fault(self, start: Start) -> str:
        """What is wrong with the beginning that a checkpoint knows; empty if nothing is."""
        try:
            there = self.path.stat().st_size if self.path.exists() else 0
            if there < start.length:
                return f"{str(self.path)!r} has {there} bytes, and had {start.length} at that step"
            same = start.sha256 is None or Running(self.path).through(start.length) == start
        except OSError as error:
            return f"{str(self.path)!r} cannot be read ({error.strerror})"
        return "" if same else f"{str(self.path)!r} is damaged (the SHA-256 of its lines differs)"

    def truncate_to(self, length: int) -> None:
        """Cut back to a length that `sync` once returned. RunError if those lines are gone."""
        with told(self.path), open(self.path, "a+b") as file:
            there = file.seek(0, os.SEEK_END)
            file.seek(length - 1 if length else 0)
            if length > there or (length and file.read(1) != b"\n"):
                raise RunError(
                    f"{str(self.path)!r} does not belong to the checkpoint: it has {there} bytes, "
                    f"and no line ends at byte {length}. Bring the file back or start a new run."
                )
            file.truncate(length)
            flush(file.fileno())
