"""R14: what a durable checkpoint at every step adds to a step of the demonstration."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.durability_parts.rows import Row

BLOCK = 4  # steps with a checkpoint each, then as many without
PAIRS = 24  # of such blocks
FEW = 4
DRAWS = 10_000  # of the bootstrap


def measure(budget: float | None) -> list[Row]:
    """One run of the demonstration in which blocks with and without checkpoints take turns.

    Neighbours share the machine's mood and the length of the answers, so their difference is what
    a checkpoint costs; two runs of their own differed by more than that.
    """
    pairs = PAIRS if budget is None else FEW
    steps = BLOCK * (2 * pairs + 1)  # the first block warms up
    with tempfile.TemporaryDirectory() as root:
        started = time.monotonic()
        _train(steps, root)
        took = time.monotonic() - started
        print(f"     {steps} steps: {took:.0f} s", file=sys.stderr, flush=True)
        seconds = _steps(Path(root) / "r")
    blocks = seconds[BLOCK - 1 :][: 2 * pairs * BLOCK].reshape(pairs, 2, BLOCK).mean(axis=2)
    added, low, high = _median(blocks[:, 0] - blocks[:, 1])
    without = float(np.median(blocks[:, 1]))
    found = f"{added / without:+.1%} of a step of {without:.3f} s: {1e3 * added:+.0f} ms (95 %: "
    found += f"{1e3 * low:+.0f} to {1e3 * high:+.0f} ms, {pairs} pairs of {BLOCK} steps)"
    holds = added < 0.1 * without or added <= 0.03
    return [Row("R14", "< 10 % of the CPU demo's step or <= 30 ms", found, holds)]


def _train(steps: int, root: str) -> None:
    from evenodds.run.config import make_config, merge
    from evenodds.run.session import Session
    from evenodds.run.train import train

    save = Session.save

    def sometimes(self: Session, state: Any) -> None:
        """A checkpoint behind step k is written during step k + 1, whose time is compared."""
        if state.step >= BLOCK and (state.step // BLOCK) % 2:
            save(self, state)

    over = {"run.steps": steps, "run.max_time": 3600.0, "run.save_every": 1, "run.root": root}
    over |= {"run.name": "r", "evaluation.problems": 2, "evaluation.samples": 1}
    with patch.object(Session, "save", sometimes):
        train(make_config(merge({}, over | {"evaluation.control": "none"})))


def _steps(folder: Path) -> NDArray[np.float64]:
    """Seconds from one line of the metrics to the next, checkpoints between them included."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return np.diff([row["time/elapsed"] for row in rows])


def _median(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """The median, and the interval that a bootstrap gives it."""
    drawn = np.random.default_rng(0).choice(values, (DRAWS, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(np.median(values)), float(low), float(high)
