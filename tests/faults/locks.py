"""Many commands on one run: who wins, and what the others are told."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults import children
from tests.faults.fingerprint import differences, fingerprint, leftovers
from tests.faults.setting import Setting


def at_once(setting: Setting, name: str, count: int) -> list[str]:
    """So many `train` on one new folder at the same moment: one trains, the others are refused.

    One that comes when the winner has ended already may say that the run is finished.
    """
    place = setting.begin(name)
    begun = [
        children.start(setting.arguments, place / f"said-{n}", within=place) for n in range(count)
    ]
    ended = [child.wait(120) for child in begun]
    winners = [one for one in ended if one.code == 0 and "finished already" not in one.err]
    amiss = [] if len(winners) == 1 else [f"winners: {len(winners)} of {count}"]
    for one in ended:
        told = one.err.splitlines()[-1:] or [""]
        if one.code not in (0, 2) or (one.code == 2 and not _is_refusal(told[0])):
            amiss.append(f"exit {one.code}: {told[0]}")
    run = setting.run(name)
    amiss += differences(setting.whole, fingerprint(run))
    return amiss + [f"left over: {path}" for path in leftovers(run)]


def _is_refusal(line: str) -> bool:
    return "is in use by process" in line or "meanwhile" in line


def another(setting: Setting, name: str) -> list[str]:
    """Two with different seeds at once: the second never goes on in the run of the first."""
    place, one = setting.begin(name), setting.arguments
    begun = [
        children.start(command, place / f"said-{n}", within=place)
        for n, command in enumerate((one, [*one, "--run.seed", "1"]))
    ]
    codes = sorted(child.wait(120).code for child in begun)
    return [] if codes == [0, 2] else [f"exits {codes}"]


@dataclass(frozen=True)
class Refused:
    """The second command: its exit code, what it said, and seconds from its start to its end."""

    code: int
    err: str
    seconds: float
    holder: int


def second(setting: Setting, name: str) -> Refused:
    """The real command, as a person starts it, on a run that another process holds."""
    place, run = setting.begin(name), setting.run(name)
    holder = children.start(setting.arguments, place / "said-holder", within=place)
    while not (run / "config.toml").exists() and holder.is_running:
        time.sleep(0.005)
    holder.signal(19)  # SIGSTOP: it holds the run and does not end meanwhile
    started = time.monotonic()
    found = subprocess.run(
        [sys.executable, "-m", "evenodds", "train", "--resume", str(run)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path("src").absolute())},
        timeout=120,
    )
    seconds = time.monotonic() - started
    holder.kill()
    holder.wait()
    return Refused(found.returncode, found.stderr, seconds, holder.pid)
