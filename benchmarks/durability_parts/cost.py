"""R14: what a durable checkpoint at every step adds to a step of the demonstration."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.durability_parts.rows import Row

STEPS = 40
FEW = 10


def measure(budget: float | None) -> list[Row]:
    """Two runs of the demonstration in turn, with a checkpoint a step and with none; medians."""
    from evenodds.run.config import make_config, merge
    from evenodds.run.train import train

    steps = STEPS if budget is None else FEW
    base = {"run.steps": steps, "run.max_time": 3600.0, "evaluation.problems": 2}
    base |= {"evaluation.samples": 1, "evaluation.control": "none"}
    seconds: dict[int, list[float]] = {1: [], steps + 1: []}
    with tempfile.TemporaryDirectory() as root:
        for turn, every in enumerate((1, steps + 1, 1, steps + 1)):
            over = base | {"run.save_every": every, "run.root": root, "run.name": f"r{turn}"}
            started = time.monotonic()
            train(make_config(merge({}, over)))
            seconds[every] += _steps(Path(root) / f"r{turn}")
            print(f"     run {turn + 1} of 4: {time.monotonic() - started:.0f} s", flush=True)
    with_one, without = (statistics.median(seconds[every]) for every in (1, steps + 1))
    share, milliseconds = with_one / without - 1, 1e3 * (with_one - without)
    found = f"{share:+.1%} of a step of {without:.3f} s, {milliseconds:+.0f} ms"
    return [
        Row(
            "R14",
            "< 10 % of the CPU demo's step or <= 30 ms",
            found,
            share < 0.1 or milliseconds <= 30,
        )
    ]


def _steps(folder: Path) -> list[float]:
    """Seconds from one line of the metrics to the next, checkpoints between them included."""
    import json

    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    ends = [row["time/elapsed"] for row in rows]
    return [after - before for before, after in itertools.pairwise(ends)]
