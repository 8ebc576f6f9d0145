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

from tests.faults.children import Ended
from tests.faults.refusals import Tried, fault_of_words, is_changed
from tests.faults.setting import RUN, Setting
from tests.faults.stories import start, went_on

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


def _traced(setting: Setting, name: str, options: list[str]) -> Ended:
    """A run under strace from the moment that all is imported."""
    child = start(setting, name, 0, last=halt)
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


def counted(setting: Setting, call: str) -> int:
    """How often one thread of a run makes this call, once all is imported; strace counts so."""
    log, calls = setting.root / f"{call}.trace", RENAMES.get(call, call)
    ended = _traced(setting, f"count-{call}", ["-e", f"trace={calls}", "-o", str(log)])
    assert ended.code == 0, ended.err
    setting.remove(f"count-{call}")
    made = re.findall(r"^(\d+) +\w+\(", log.read_text(errors="replace"), re.MULTILINE)
    return max(Counter(made).values(), default=0)


def broken(setting: Setting, call: str, error: str, when: int) -> Tried:
    """That call fails with that error at its `when`-th time; then all is well."""
    name, calls = f"t{call}-{error}-{when}", RENAMES.get(call, call)
    log = setting.root / f"{name}.trace"
    inject = f"inject={calls}:error={error}:when={when}"
    ended = _traced(setting, name, ["-e", f"trace={calls}", "-e", inject, "-o", str(log)])
    told = log.read_text(errors="replace") if log.exists() else ""
    hit = next((line for line in told.splitlines() if "(INJECTED)" in line), NOT_HIT)
    run = setting.run(name)
    if _is_elsewhere(call, hit, run):
        problem = "" if "Traceback" not in ended.err else "a traceback"
    else:
        written = is_changed(setting, run)
        problem = fault_of_words(ended.code, ended.err, RUN, error, written)
        problem = problem or "; ".join(went_on(setting, name))
    setting.remove(name)
    log.unlink(missing_ok=True)
    return Tried(hit, error, ended.code, ended.err, problem)


def _is_elsewhere(call: str, hit: str, run: Path) -> bool:
    """Whether the call that was broken is no part of the run folder."""
    printed = f"{call}(1, " in hit or f"{call}(2, " in hit
    named = re.search(r'"([^"]*)"', hit)
    return printed or bool(
        named and "(AT_FDCWD" in hit and not (run.parent / named[1]).is_relative_to(run)
    )
