"""Many tiny steps in one process: memory, descriptors, threads and the time of a step stay flat.

The policy and its problems stay what they are (a learning rate of next to nothing), so that a step
at the end is the same work as one at the start; only the run folder has grown.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.durability_parts.rows import Row
from benchmarks.growth import SMALL_STEPS

STEPS = 10_000
PER_SECOND = 15  # steps, cautiously, where there is a budget
WINDOWS = 10
GROWTH = 1.05
FLAT = 1.1
TINY = {"sampling.group_size": 2, "sampling.max_tokens": 8, "evaluation.control": "none"}
ASKED = f"{STEPS:,} steps: memory + < 5 %, descriptors constant, time of a step flat (± 10 %)"

Reading = dict[str, float]


class Recorder:
    """A view that looks at its own process after every step."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def start(self, title: str, lines: Sequence[str], levels: Sequence[str] = ()) -> None: ...
    def phase(self, name: str, done: int, total: int) -> None: ...
    def note(self, text: str) -> None: ...
    def table(self, comparison: object, sentence: str = "") -> None: ...
    def close(self) -> None: ...

    def step(self, step: int, total: int | None, *rest: object) -> None:
        self.readings.append(reading())
        if step % 500 == 0:
            seconds = (self.readings[-1]["wall"] - self.readings[0]["wall"]) / max(1, step - 1)
            left = seconds * ((total or step) - step)
            print(f"     step {step} of {total}, {left:.0f} s left", file=sys.stderr, flush=True)


def reading() -> Reading:
    """Resident memory in MB, descriptors, threads, seconds of the processor and of the clock."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return {
        "memory": pages * os.sysconf("SC_PAGESIZE") / 1e6,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "busy": time.process_time(),
        "wall": time.monotonic(),
    }


def windows(readings: Sequence[Reading]) -> list[Mapping[str, float]]:
    """What a tenth of the run looks like: medians of what is there, processor seconds a step."""
    size = len(readings) // WINDOWS
    found = []
    for start in range(0, size * WINDOWS, size):
        part = readings[start : start + size]
        turns = [b["busy"] - a["busy"] for a, b in itertools.pairwise(part)]
        found.append(
            {
                "memory": statistics.median(one["memory"] for one in part),
                "descriptors": min(one["descriptors"] for one in part),
                "threads": statistics.median(one["threads"] for one in part),
                "step": statistics.median(turns),
                "mean": statistics.mean(turns),
            }
        )
    return found


def measure(budget: float | None) -> list[Row]:
    if not Path("/proc/self/statm").exists():
        return [Row("soak", ASKED, "nothing", skipped="only where /proc is")]
    steps = STEPS if budget is None else max(100, int(budget * PER_SECOND))
    with tempfile.TemporaryDirectory() as root:
        command = [sys.executable, "-m", "benchmarks.durability_parts.soak", root, str(steps)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [row_of(windows(json.loads(done.stdout)), steps)]


def row_of(found: Sequence[Mapping[str, float]], steps: int) -> Row:
    """The second tenth against the last: in the first, caches and allocators still fill."""
    early, late = found[1], found[-1]
    growth, time_ = late["memory"] / early["memory"], late["mean"] / early["mean"]
    same = all(len({one[name] for one in found}) == 1 for name in ("descriptors", "threads"))
    text = (
        f"{steps:,} steps: memory {early['memory']:.0f} → {late['memory']:.0f} MB (× {growth:.3f}),"
        f" descriptors {[int(one['descriptors']) for one in found]}, threads "
        f"{int(early['threads'])} → {int(late['threads'])}, processor time of a step mean "
        f"{1e3 * early['mean']:.1f} → {1e3 * late['mean']:.1f} ms (× {time_:.3f}), median "
        f"{1e3 * early['step']:.1f} → {1e3 * late['step']:.1f} ms"
    )
    return Row("soak", ASKED, text, growth < GROWTH and same and time_ < FLAT)


def main(root: str, steps: int) -> None:
    from evenodds.run.config import make_config, merge
    from evenodds.run.train import train

    over: dict[str, Any] = {**SMALL_STEPS, **TINY, "run.steps": steps, "run.root": root}
    levels = {"curriculum.levels": [1], "run.name": "soak"}
    view = Recorder()
    train(make_config(merge({}, over | levels)), view=view)
    print(json.dumps(view.readings))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
