"""R7: SIGINT, SIGTERM and SIGHUP at 100 moments, once and twice, on quick and on slow disks.

Asked once a run ends its step, saves and is gone within 10 s with 130, 143 or 129; asked twice it
is gone within a second. In both cases nothing that was saved is lost, no process stays behind, and
the same command goes on to the end of the run that nobody disturbed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.durability_parts.rows import Row
from benchmarks.durability_parts.trying import Tried, try_all
from tests.faults.setting import Setting, undisturbed
from tests.faults.stories import Story, signalled

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ONCE, TWICE, SLOW, WORKERS, STARTS = 100, 40, 20, 12, 24
SLOW_FLUSH = 0.03  # seconds more for each flush of a slow disk


def measure(budget: float | None) -> list[Row]:
    """budget: seconds for all of it."""
    part = budget and budget / 4
    with tempfile.TemporaryDirectory() as root:
        whole = undisturbed(Path(root) / "whole")
        once = try_all("a signal", at_moments(whole, ONCE), whole, part)
        twice = try_all("two signals", twice_at(whole), whole, part)
        judged = undisturbed(Path(root) / "judged", judge__workers=1)
        workers = try_all("with workers", at_moments(judged, WORKERS), judged, part)
        start = at_starts(Path(root), part)
    return [
        _row("one signal: exit 130, 143 or 129 within 10 s, 0 lost", once),
        _row("two signals: gone within 1 s, the last good one intact", twice),
        _row("one signal while judge's processes work: 0 of them stay", workers),
        start,
    ]


def at_moments(setting: Setting, count: int) -> dict[str, Story]:
    return {
        f"{NUMBERS[n % 3].name}-{n}": signalled(NUMBERS[n % 3], random.uniform(0, setting.seconds))
        for n in range(count)
    }


def twice_at(setting: Setting) -> dict[str, Story]:
    """A second signal .12 to .4 s after the first; some while flushes are slow."""
    stories: dict[str, Story] = {}
    for n in range(TWICE):
        slow = SLOW_FLUSH if n < SLOW else 0.0
        moment = random.uniform(0, setting.seconds * (2 if slow else 1))
        again = random.uniform(0.12, 0.4)
        stories[f"twice-{n}"] = signalled(NUMBERS[n % 3], moment, again, slow)
    return stories


def at_starts(root: Path, budget: float | None) -> Row:
    """The real command, asked to end in its first second: one line or none, and no traceback.

    Before its first line is read, Python itself may print one of its own: those are counted apart.
    """
    until = time.monotonic() + (budget or 1e9)
    ours, pythons, count = 0, 0, 0
    for n in range(STARTS):
        if n and time.monotonic() > until:
            break
        err = _asked(root / f"start-{n}", NUMBERS[n % 2], random.uniform(0, 1.0))
        traced = "Traceback" in err or len(err.splitlines()) > 8
        ours += traced and "evenodds" in err
        pythons += traced and "evenodds" not in err
        count += 1
    found = f"{count} of {STARTS} tried: {ours} with a traceback, {pythons} of Python's own start"
    return Row("R7", "a signal in the first second: no traceback of ours", found, not ours)


def _asked(root: Path, number: int, moment: float) -> str:
    command = [sys.executable, "-m", "evenodds", "train", "--run.root", str(root)]
    child = subprocess.Popen(
        [*command, "--run.name", "r"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    time.sleep(moment)
    child.send_signal(number)
    return child.communicate(timeout=60)[1]


def _row(asked: str, tried: Tried) -> Row:
    found = (
        f"{tried.count} of {tried.asked} tried: {tried.of('lost')} lost, {tried.of('slow')} late, "
        f"{tried.of('orphan')} with orphans, {len(tried.amiss)} with anything amiss"
    )
    return Row("R7", asked, found, tried.holds)
