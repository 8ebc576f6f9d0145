"""The near side of running programs: descriptors, reading what they print, how they ended."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from evenodds.sandbox.values import Job, Outcome, Status

CHUNK = 1 << 16
PROGRAM = "main.py"
LAST_SECONDS = 20.0
"""How long the end of a killed program is waited for: a machine may be busy, or out of memory."""


class ServerGone(Exception):
    """The server ended or does not answer."""


class Line(Protocol):
    """A line to whatever runs the programs: `inside/server.py` says which messages there are."""

    def send(self, message: Mapping[str, Any]) -> None: ...
    def receive(self) -> dict[str, Any]: ...
    def fileno(self) -> int: ...


class Descriptors(ExitStack):
    """File descriptors that are closed together."""

    def own(self, fd: int) -> int:
        self.callback(os.close, fd)
        return fd


@dataclass
class Stream:
    """One output of a program, read up to its cap."""

    fd: int
    cap: int
    data: bytearray = field(default_factory=bytearray)
    is_over: bool = False

    def read(self) -> bytes:
        """The next piece; empty at the end. What is beyond the cap is not kept."""
        piece = os.read(self.fd, CHUNK)
        room = self.cap - len(self.data)
        self.data += piece[:room]
        self.is_over = self.is_over or len(piece) > room
        return piece


Streams = tuple[Stream, Stream]


def filled(content: bytes, name: str) -> int:
    """A file in memory that holds `content`, at its start."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    at = 0
    while at < len(content):
        at += os.write(fd, content[at:])
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def opened(job: Job, cap: int, near: Descriptors, far: Descriptors) -> tuple[list[int], Streams]:
    """What a job needs: [its files, stdin, stdout, stderr] for the far side, streams for ours."""
    files = json.dumps({**job.files, PROGRAM: job.program}).encode()
    fds = [far.own(filled(files, "job")), far.own(filled(job.stdin, "stdin"))]
    streams: list[Stream] = []
    for _ in range(2):
        reading, writing = os.pipe()
        streams.append(Stream(near.own(reading), cap))
        fds.append(far.own(writing))
    return fds, (streams[0], streams[1])


def crossed(far: Descriptors) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two pipes as (read, write) ends for each of two programs that talk to each other."""
    (from_first, first), (from_second, second) = os.pipe(), os.pipe()
    for fd in (from_first, first, from_second, second):
        far.own(fd)
    return (from_second, first), (from_first, second)


@dataclass
class Gathering:
    """Programs that run together, and what is known of them so far."""

    line: Line
    numbers: Sequence[int]
    ends: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    is_late: bool = False

    def kill(self, *numbers: int) -> None:
        for number in numbers:
            if number not in self.ends:
                self.line.send({"kill": number})

    def listen(self) -> None:
        message = self.line.receive()
        if "failed" in message and "end" not in message:
            raise ServerGone(str(message["failed"]))
        number = int(message.get("end", -1))
        if number in self.numbers:
            self.ends[number] = message
            if number == self.numbers[0]:  # nobody is left to whom the other could answer
                self.kill(*self.numbers[1:])


def gather(
    line: Line, numbers: Sequence[int], streams: Sequence[Streams], total: float
) -> list[dict[str, Any]]:
    """Read all that the programs print until all have ended, or are ended after `total` seconds.

    Raises `ServerGone` where the line breaks.
    """
    now = Gathering(line, numbers)
    owners = {stream.fd: (at, stream) for at, pair in enumerate(streams) for stream in pair}
    deadline = time.monotonic() + total
    poll = select.poll()
    for fd in (line.fileno(), *owners):
        poll.register(fd, select.POLLIN)
    while len(now.ends) < len(numbers) or owners:
        left = deadline - time.monotonic()
        patience = max(0.0, left) if not now.is_late else LAST_SECONDS
        ready = {fd for fd, _ in poll.poll(patience * 1000)}
        if now.is_late and not ready:
            raise ServerGone(f"nothing ended within {LAST_SECONDS:.0f} s of its kill")
        for fd in ready & owners.keys():
            piece = _read(now, *owners[fd])
            if not piece:
                poll.unregister(fd)
                del owners[fd]
            elif fd == streams[0][0].fd and len(numbers) > 1 and b"\n" in piece:
                for number in numbers:
                    line.send({"renew": number})
        if line.fileno() in ready:
            now.listen()
        if left <= 0 and not now.is_late:
            now.is_late = True
            now.kill(*numbers)
    return [now.ends[number] | {"late": now.is_late} for number in numbers]


def _read(now: Gathering, at: int, stream: Stream) -> bytes:
    was_over = stream.is_over
    piece = stream.read()
    if stream.is_over and not was_over:
        now.kill(now.numbers[at])
    return piece


def outcome(end: Mapping[str, Any], streams: Streams) -> Outcome:
    """What a program's end means."""
    out, err = (bytes(stream.data) for stream in streams)
    if end["failed"]:
        err = f"the sandbox failed: {end['failed']}".encode()
    status = _status(end, streams, err)
    return Outcome(status, int(end["exit"]), out, err, float(end["seconds"]), float(end["cpu"]))


def _status(end: Mapping[str, Any], streams: Streams, err: bytes) -> Status:
    if end["failed"]:
        return "error"
    if any(stream.is_over for stream in streams):
        return "output"
    if end["why"] == "timeout" or (end["late"] and end["why"]):
        return "timeout"
    if end["exit"] <= 0:
        return "done" if end["exit"] == 0 else "killed"
    last = err.rstrip().rpartition(b"\n")[2]
    return "memory" if last.startswith(b"MemoryError") else "failed"
