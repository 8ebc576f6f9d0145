"""Running Lean on one file, in a process group of its own that ends at a deadline."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

MAX_OUTPUT = 4_000_000
_KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "ELAN_HOME",
    "ELAN_TOOLCHAIN",
    "LEAN_PATH",
    "LEAN_SYSROOT",
    "LD_LIBRARY_PATH",
)
"""What Lean may know of the environment."""
_ALONE = ("unshare", "--user", "--map-root-user", "--net", "--")
_TIED = ("setpriv", "--pdeathsig", "KILL", "--")


@dataclass(frozen=True)
class Outcome:
    """How a run ended. output: of both streams. code: None where the deadline ended it."""

    code: int | None
    output: str


def command_of(command: Sequence[str], project: str) -> tuple[str, ...]:
    """The words that start Lean, its file to follow: given, or found by the project."""
    return tuple(command) or (("lake", "env", "lean") if project else ("lean",))


def missing(command: Sequence[str], project: str) -> str | None:
    """Why Lean cannot be run, in words; None where it can be."""
    first = command_of(command, project)[0]
    if shutil.which(first) is None:
        return f"not installed: there is no {first!r} on the PATH"
    if project and not Path(project).is_dir():
        return f"there is no folder {project!r} for its project"
    return None


def too_little_memory(memory_mb: int) -> str | None:
    """Why Lean could not have its memory here, in words; None where it can.

    A worker of a judge is bounded, and what it starts is bounded with it; only root may lift that.
    """
    import resource  # not everywhere

    bound = resource.getrlimit(resource.RLIMIT_AS)[1]
    if bound == resource.RLIM_INFINITY or bound >= memory_mb << 20 or os.geteuid() == 0:
        return None
    return (
        f"what this process starts may take {bound >> 20} MB, and Lean is given {memory_mb}: "
        "raise judge.memory_mb, or lower the policy's memory_mb"
    )


def run_lean(
    text: str, command: Sequence[str], project: str, seconds: float, memory_mb: int
) -> Outcome:
    """Lean's messages about a text, as JSON lines."""
    with tempfile.TemporaryDirectory(prefix="evenodds-lean-") as folder:
        file = Path(folder) / "Proof.lean"
        file.write_text(text, encoding="utf-8", errors="replace")
        started = [
            *_confined(),
            *command_of(command, project),
            "--json",
            f"--memory={memory_mb}",
            str(file),
        ]
        return _run(started, Path(folder) / "output", project or folder, seconds)


def _run(command: list[str], output: Path, folder: str, seconds: float) -> Outcome:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        try:
            _limit(process.pid, seconds)
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
    with output.open("rb") as stream:
        return Outcome(code, stream.read(MAX_OUTPUT).decode("utf-8", "replace"))


def _limit(process: int, seconds: float) -> None:
    """Bounds that hold even where this process is killed and cannot end Lean itself.

    Memory is Lean's own limit: it maps its libraries, so that a limit on addresses, such as a
    judge's worker has, would refuse them. That one is lifted where it may be.
    """
    import resource

    limits = {
        resource.RLIMIT_AS: resource.RLIM_INFINITY,
        resource.RLIMIT_CPU: int(seconds * 8) + 8,  # Lean elaborates on several threads
        resource.RLIMIT_FSIZE: MAX_OUTPUT,
        resource.RLIMIT_CORE: 0,
    }
    if hasattr(resource, "prlimit"):  # Linux only
        for kind, limit in limits.items():
            try:
                resource.prlimit(process, kind, (limit, limit))
            except (OSError, ValueError):  # it has ended, or its limit is lower already
                continue


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole group, so that nothing which Lean started stays behind."""
    with suppress(ProcessLookupError, PermissionError):  # all of it may have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@lru_cache(maxsize=1)
def _confined() -> tuple[str, ...]:
    """What to put before a command so that it has no network, and ends when this process does;
    as much of it as the system allows.
    """
    choices = ((*_ALONE, *_TIED), _TIED, _ALONE)
    return next((words for words in choices if _works(words)), ())


def _works(words: Sequence[str]) -> bool:
    try:
        tried = subprocess.run([*words, "true"], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0
