"""R8: two processes on one run, twenty at the same moment, and one after a killed holder."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.durability_parts.rows import Row
from tests.faults.locks import another, at_once, second
from tests.faults.setting import Setting, undisturbed
from tests.faults.stories import taken_up

SECONDS, TIMES, MANY = 5, 3, 20


def measure(budget: float | None) -> list[Row]:
    """The same at any budget, for it takes half a minute."""
    with tempfile.TemporaryDirectory() as root:
        setting = undisturbed(Path(root) / "whole")
        return [*_refused(setting), _together(setting)]


def _refused(setting: Setting) -> list[Row]:
    """The real command against a holder, and the same command again once that one was killed."""
    found = [second(setting, f"held-{n}") for n in range(SECONDS)]
    host = socket.gethostname()
    named = [f"process {one.holder} on {host}" in one.err and one.code == 2 for one in found]
    seconds = statistics.median(one.seconds for one in found)
    alone = _python_alone()
    freed = [taken_up(setting, f"held-{n}") for n in range(SECONDS)]
    told = f"{sum(named)} of {SECONDS} refused by name and host in {seconds:.2f} s (median), "
    told += f"of which an import of numpy and pydantic alone takes {alone:.2f} s; "
    told += f"{sum(not amiss for amiss in freed)} of {SECONDS} went on after kill -9"
    fine = all(named) and not any(freed) and seconds < 1
    return [
        Row("R8", "the second refused within 1 s by pid and host; free after kill -9", told, fine)
    ]


def _python_alone() -> float:
    """What any command pays on this machine at this moment, whatever it does."""
    command = [sys.executable, "-c", "import numpy, pydantic; pydantic.BaseModel"]
    started = time.monotonic()
    subprocess.run(command, check=True, env=dict(os.environ))
    return time.monotonic() - started


def _together(setting: Setting) -> Row:
    amiss = [at_once(setting, f"many-{n}", MANY) for n in range(TIMES)]
    amiss += [another(setting, f"other-{n}") for n in range(TIMES)]
    wrong = [what for found in amiss for what in found]
    asked = f"{MANY} at the same moment: one trains, 19 are told; another configuration never mixes"
    return Row("R8", asked, f"{2 * TIMES} times: {wrong or 'nothing amiss'}", not wrong)
