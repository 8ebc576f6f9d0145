"""What a step costs as runs and batches grow: python -m benchmarks.growth [--steps 2000].

Time and memory a step over a whole run of the bundled model; a step with twice the prompts, twice
the answers, or answers twice as long; and the seconds from `evenodds train` to its first sample.
Printed beside what is promised. Exit 3 if a promise is not kept.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.common import Run, train, whole
from benchmarks.speed_parts.children import ROOT
from benchmarks.speed_parts.table import Spread
from benchmarks.speed_parts.work import WARM, Work

DOUBLE = 2.2  # a step with twice the work costs at most so many times as much
FLAT = 1.1  # what time and memory a step may change by over a run
FIRST = 6.0  # seconds from the start of `evenodds train` to its first sample
WINDOW = 200  # steps at each end of a run that are compared
SMALL_STEPS = {  # a run of many cheap steps whose policy and problems stay what they are
    "run.save_every": 100,
    "task.held_out": 20,
    "sampling.groups": 2,
    "sampling.group_size": 4,
    "sampling.max_tokens": 32,
    "curriculum.kind": "fixed",
    "curriculum.levels": "1",
    "learner.learning_rate": 1e-9,
    "evaluation.problems": 4,
    "evaluation.samples": 1,
}
BASE = Work("base", "abacus", 8, 8, 32, rank=0, warm_tokens=32)
LARGER = {
    "prompts": replace(BASE, groups=16),
    "answers a prompt": replace(BASE, group_size=16),
    "length": replace(BASE, max_tokens=64, warm_tokens=64),
}


@dataclass(frozen=True)
class Promise:
    """A measured value with the most that it may be."""

    name: str
    value: float
    most: float
    text: str

    @property
    def kept(self) -> bool:
        return self.value <= self.most

    def __str__(self) -> str:
        return f"{'ok  ' if self.kept else 'MISS'} {self.name:<42} {self.text}   [≤ {self.most:g}]"


def flat(rows: Sequence[dict[str, Any]], window: int) -> list[Promise]:
    """Time and memory at the end of a run against its start. rows: lines of metrics.jsonl.

    The first window is left out of the time: there, files and caches are new. Memory is the peak.
    """
    early, late = rows[window : 2 * window], rows[-window:]
    seconds = [statistics.median(row["time/step"] for row in part) for part in (early, late)]
    memory = [rows[at]["time/memory_mb"] for at in (window - 1, -1)]
    total = (rows[-1]["time/elapsed"] - rows[-window]["time/elapsed"]) / (window - 1)
    start = (early[-1]["time/elapsed"] - early[0]["time/elapsed"]) / (window - 1)
    steps = f"steps {window + 1}–{2 * window} → last {window} of {len(rows)}"
    return [
        _change(f"seconds a step, {steps}", seconds, "s"),
        _change("  mean, with all between steps", [start, total], "s"),
        _change(f"peak memory at step {window} → {len(rows)}", memory, "MB"),
    ]


def _change(name: str, values: Sequence[float], unit: str) -> Promise:
    before, after = values
    text = f"{before:.4g} → {after:.4g} {unit}: × {after / before:.3f}"
    return Promise(name, after / before, FLAT, text)


def long_run(steps: int, root: Path) -> Run:
    """`evenodds train` for so many small steps."""
    flags = [text for key, value in SMALL_STEPS.items() for text in (f"--{key}", str(value))]
    return train("growth", root, ["--steps", str(steps), *flags])


def doublings(rounds: int) -> list[Promise]:
    """Steps of the base work and of the larger ones in turn; ratios within each round."""
    from benchmarks.speed_parts.ours import Ours

    contenders = {name: Ours(work, "equal") for name, work in {"base": BASE, **LARGER}.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(WARM, rounds + 1):
        for name, contender in contenders.items():
            taken = contender.turn(number)["seconds"]
            seconds[name] += [taken] if number != WARM else []
    return [
        _doubled(name, [a / b for a, b in zip(seconds[name], seconds["base"], strict=True)])
        for name in LARGER
    ]


def _doubled(name: str, ratios: Sequence[float]) -> Promise:
    spread = Spread.of(ratios)
    return Promise(f"twice the {name}", spread.median, DOUBLE, f"× {spread} of a step")


def seconds_to_first_sample(root: Path) -> float:
    """From the start of the process to the first drawn tokens, on the bundled model."""
    command = [sys.executable, "-m", "benchmarks.speed_parts.first_sample", "--run.root", str(root)]
    started = time.monotonic()
    done = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert done.stdout is not None
    line = done.stdout.readline()
    seconds = time.monotonic() - started
    _, errors = done.communicate()
    if line.strip() != "sampled":
        raise SystemExit(f"{' '.join(command)} drew nothing: {' '.join(errors.splitlines()[-1:])}")
    return seconds


def start(times: int, root: Path) -> Promise:
    spread = Spread.of([seconds_to_first_sample(root / str(n)) for n in range(times)])
    return Promise("`evenodds train` to its first sample", spread.median, FIRST, f"{spread} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--steps", type=whole, default=2000, help="of the long run; 0 leaves it out"
    )
    parser.add_argument(
        "--rounds", type=whole, default=7, help="of the doublings; 0 leaves them out"
    )
    parser.add_argument("--starts", type=whole, default=3, help="of `evenodds train`; 0: none")
    options = parser.parse_args()
    found: list[Promise] = []
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if options.starts:
            found += _shown([start(options.starts, root)])
        if options.rounds:
            found += _shown(doublings(options.rounds))
        if options.steps:
            window = min(WINDOW, options.steps // 4)
            found += _shown(flat(long_run(options.steps, root).metrics, window))
    kept = all(promise.kept for promise in found)
    print("every promise kept" if kept else "a promise was not kept")
    return 0 if kept else 3


def _shown(promises: list[Promise]) -> list[Promise]:
    for promise in promises:
        print(promise, flush=True)
    return promises


if __name__ == "__main__":
    sys.exit(main())
