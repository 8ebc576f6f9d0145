"""What the benchmarks share: one training run in a process of its own, and what it recorded."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenodds.report.comparison import Comparison, compare


def whole(text: str) -> int:
    """A count of 0 or more, for argparse."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 up")
    return int(text)


def writable(text: str) -> Path:
    """A file that a flag names, refused before minutes are spent on what goes into it."""
    path = Path(text)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(
            f"cannot write {text!r}: choose a file in a folder of yours"
        )
    return path


@dataclass(frozen=True)
class Run:
    """seconds: from start to exit. peak: the largest memory of any run so far, in MB."""

    folder: Path
    seconds: float
    peak: float

    def evaluation(self, name: str) -> dict[str, Any]:
        return json.loads((self.folder / "evaluation" / f"{name}.json").read_text())

    @property
    def comparison(self) -> Comparison:
        return compare(self.evaluation("base"), self.evaluation("final"))

    @property
    def metrics(self) -> list[dict[str, Any]]:
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


def train(name: str, root: Path, flags: Sequence[str]) -> Run:
    """`evenodds train` as a person calls it, under a name that is new every second."""
    name = f"{name}-{int(time.time())}"
    command = [sys.executable, "-m", "evenodds", "train", *flags]
    command += ["--run.root", str(root), "--name", name]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {' '.join(last)}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    return Run(root / name, seconds, peak)
