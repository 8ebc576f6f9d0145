"""Errors of system calls, put in from outside: also those of writers in other languages."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.faults.children import Ended, start
from tests.faults.refusals import Tried, Undisturbed, fault_of_words, goes_on, newest

CALLS = ("fsync", "rename", "mkdir", "openat", "write", "ftruncate", "unlink", "pwrite64")
NOT_HIT = "no such call"
RENAMES = {"rename": "rename,renameat,renameat2", "unlink": "unlink,unlinkat,rmdir"}


def halt() -> None:
    """In the child: wait until it is traced."""
    os.kill(os.getpid(), signal.SIGSTOP)


@cache
def why_no_trace() -> str:
    """Why system calls cannot be broken here; empty where they can."""
    if sys.platform != "linux" or shutil.which("strace") is None:
        return "no strace here"
    words = ["strace", "-f", "-o", "/dev/null", "-e", "inject=getpid:error=EIO", "true"]
    done = subprocess.run(words, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"strace may not trace here: {done.stderr.strip()[:80]}"


def _traced(base: Undisturbed, name: str, options: list[str]) -> Ended:
    """A run under strace from the moment that all is imported."""
    child = start(base.arguments(name), base.root / f"{name}.said", before=halt)
    _until(lambda: _state(child.pid, "State").startswith("T"))
    words = ["strace", "-f", "-qq", *options, "-p", str(child.pid)]
    tracer = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _until(lambda: _state(child.pid, "TracerPid") != "0")
    child.signal(signal.SIGCONT)
    try:
        return child.wait(120)
    finally:
        tracer.wait(20)


def _state(pid: int, name: str) -> str:
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{name}:\s*(.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError("the child was not ready to be traced")
        time.sleep(0.005)


def counted(base: Undisturbed, call: str) -> int:
    """How often one thread of a run makes this call, once all is imported; strace counts so."""
    log, calls = base.root / f"{call}.trace", RENAMES.get(call, call)
    ended = _traced(base, f"count-{call}", ["-e", f"trace={calls}", "-o", str(log)])
    assert ended.code == 0, ended.err
    made = re.findall(r"^(\d+) +\w+\(", log.read_text(errors="replace"), re.MULTILINE)
    return max(Counter(made).values(), default=0)


def broken(base: Undisturbed, call: str, error: str, when: int) -> Tried:
    """That call fails with that error at its `when`-th time; then all is well."""
    name, calls = f"t{call}-{error}-{when}", RENAMES.get(call, call)
    log = base.root / f"{name}.trace"
    inject = f"inject={calls}:error={error}:when={when}"
    ended = _traced(base, name, ["-e", f"trace={calls}", "-e", inject, "-o", str(log)])
    told = log.read_text(errors="replace") if log.exists() else ""
    hit = next((line for line in told.splitlines() if "(INJECTED)" in line), NOT_HIT)
    run = base.root / name
    printed = f"{call}(1, " in hit or f"{call}(2, " in hit
    if printed or ('"' in hit and "(AT_FDCWD" in hit and str(run) not in hit):
        problem = "" if "Traceback" not in ended.err else "a traceback"  # no part of the folder
        return Tried(hit, error, ended.code, ended.err, problem)
    before = newest(run)
    problem = fault_of_words(ended.code, ended.err, run, error) or goes_on(base, name)
    if not problem and newest(run) < before:
        problem = f"step {before} was there, and is no more"
    for path in base.root.glob(f"{name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return Tried(hit, error, ended.code, ended.err, problem)
