"""What a sandbox is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from evenodds.errors import UsageError

Status = Literal["done", "failed", "killed", "timeout", "output", "memory", "error"]


class SandboxUnavailable(UsageError):
    """Untrusted programs cannot be contained on this machine; the message says why, in a line."""


@dataclass(frozen=True)
class Limits:
    """What a program may use.

    seconds: of CPU time; of wall-clock time it may use `patience` times as much, for a program that
    sleeps uses no CPU and a busy machine is not the program's fault. total: of wall-clock time for
    all of a conversation, whose clocks start anew with each test.
    memory: bytes of address space, the interpreter's 40 MB among them. disk: bytes of its private
    folder, which lies in memory. output: bytes of each output. threads: at most so many; processes
    cannot be made at all. seed: of Python's `random`, so that a verdict can be had again.
    """

    seconds: float = 2.0
    patience: float = 3.0
    total: float = 30.0
    memory: int = 512 * 2**20
    disk: int = 16 * 2**20
    output: int = 2**20
    threads: int = 32
    seed: int = 0


DEFAULT = Limits()


@dataclass(frozen=True)
class Job:
    """A program with its input and the files that lie beside it (name -> text)."""

    program: str
    stdin: bytes = b""
    files: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Outcome:
    """How a program ended.

    status: `done` (exit code 0), `failed` (another), `killed` (by a signal), `timeout`, `output`
    (more than the cap), `memory` (it ended in MemoryError), `error` (the sandbox's own failure,
    explained in `stderr`: nothing is known of the program). stdout, stderr: up to the cap.
    exit_code: negative for a signal. seconds: wall-clock time; cpu: CPU time.
    """

    status: Status
    exit_code: int
    stdout: bytes
    stderr: bytes
    seconds: float = field(compare=False)
    cpu: float = field(default=0.0, compare=False)

    @property
    def last_words(self) -> str:
        """The last line of stderr: of a traceback, the exception."""
        return self.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]


@dataclass(frozen=True)
class Check:
    """One line of the self-test: what was tried, whether it was refused, and what was seen."""

    name: str
    refused: bool
    seen: str = ""


class Sandbox(Protocol):
    """Runs untrusted Python programs. Safe to share between threads: one program at a time.

    how: one line, how programs are contained.
    """

    @property
    def how(self) -> str: ...

    def run(self, program: str, *, stdin: bytes = b"", limits: Limits = DEFAULT) -> Outcome:
        """Run a program as a script of its own."""
        ...

    def converse(
        self, trusted: Job, untrusted: Job, limits: Limits = DEFAULT
    ) -> tuple[Outcome, Outcome]:
        """Run two programs, apart from each other but for two pipes: each reads 3 and writes 4.

        Each line that the trusted one prints gives the other fresh clocks. When the trusted one
        ends, the other is ended.
        """
        ...

    def close(self) -> None: ...
