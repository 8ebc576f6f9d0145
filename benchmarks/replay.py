"""Random rollouts of real runs made again: python -m benchmarks.replay [--count 100] [--only NAME].

Each kind of run trains the bundled model for 40 steps with a checkpoint every 10, of which the
last three stay, and is then a folder like any other: `evenodds replay --random 100` makes 100 of
its rollouts again, each from the nearest checkpoint, with the schedule that its step had. Printed:
how many are bit-equal, how many verdicts are as recorded, and how far the losses of their steps,
worked out from the records alone, are from metrics.jsonl. Exit 3 if one rollout is not bit-equal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import Run, train

ALWAYS = {
    "run.save_every": 10,
    "task.held_out": 20,
    "evaluation.problems": 2,
    "evaluation.samples": 2,
    "check.bench": "false",
}
KINDS: dict[str, dict[str, object]] = {
    "LoRA, 1 pass": {"policy.adapter": "lora"},
    "all weights, 1 pass": {"policy.adapter": "none"},
    "LoRA, 2 passes, gspo": {
        "policy.adapter": "lora",
        "learner.passes": 2,
        "objective.recipe": "gspo",
    },
    "all weights, 2 passes, correction": {
        "policy.adapter": "none",
        "learner.passes": 2,
        "objective.correction": "token_truncate",
    },
    "refill (dapo)": {"objective.recipe": "dapo", "sampling.rounds": 4},
    "entropy bonus and KL": {
        "objective.recipe": "grpo",
        "objective.kl": 0.05,
        "objective.entropy_target": 0.6,
    },
    "KL in the reward, whitened": {
        "objective.recipe": "reinforce_pp_baseline",
        "objective.kl": 0.05,
        "objective.kl_in": "reward",
    },
    "few rows, temperature 0.7": {"sampling.max_rows": 48, "sampling.temperature": 0.7},
}


@dataclass(frozen=True)
class Row:
    """What one run came to. gap: the largest difference of a step's loss, None where the record
    does not hold all of it."""

    name: str
    rollouts: int
    equal: int
    verdicts: int
    steps: int
    gap: float | None
    departures: int
    seconds: float


def measured(name: str, root: Path, steps: int, count: int, start: bool) -> Row:
    flags = [f"--{key}={value}" for key, value in {**ALWAYS, **KINDS[name]}.items()]
    place = "".join(char if char.isalnum() else "-" for char in name)
    run = train(place, root, [*flags, f"--steps={steps}"])
    began = time.monotonic()
    found = replayed(run, count, ["--from-start"] if start else [])
    return row_of(name, found, time.monotonic() - began)


def replayed(run: Run, count: int, flags: Sequence[str]) -> list[dict[str, Any]]:
    """What `evenodds replay --json` says of so many rollouts."""
    command = [sys.executable, "-m", "evenodds", "replay", str(run.folder), "--json", *flags]
    command += ["--random", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)["rollouts"]


def row_of(name: str, found: Sequence[dict[str, Any]], seconds: float) -> Row:
    losses = [one["loss"] for one in found if not one["loss"]["without"]]
    gaps = [
        abs(loss["step"] - loss["metrics"])
        for loss in losses
        if loss["step"] is not None and loss["metrics"] is not None
    ]
    return Row(
        name,
        len(found),
        sum(one["match"]["kind"] == "bit-equal" for one in found),
        sum(one["verdict"]["same"] for one in found),
        len({one["rollout"].split("/")[0] for one in found}),
        max(gaps, default=None),
        sum(one["departure"] is not None for one in found),
        seconds,
    )


HEAD = f"{'run':<35} {'bit-equal':>11} {'verdicts':>11} {'steps':>6} {'loss apart':>11} {'time':>7}"


def line(row: Row) -> str:
    equal, verdicts = (f"{n} of {row.rollouts}" for n in (row.equal, row.verdicts))
    gap = "not held" if row.gap is None else f"{row.gap:.1g}"
    off = f"  {row.departures} after an update that differs" if row.departures else ""
    return (
        f"{row.name:<35} {equal:>11} {verdicts:>11} {row.steps:>6} {gap:>11} "
        f"{row.seconds:>5.0f} s{off}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--count", type=int, default=100, help="rollouts of each run")
    parser.add_argument("--only", choices=[*KINDS], action="append")
    parser.add_argument("--from-start", action="store_true", help="use no checkpoint")
    asked = parser.parse_args()
    print(HEAD)
    whole = True
    with tempfile.TemporaryDirectory() as root:
        for name in asked.only or KINDS:
            row = measured(name, Path(root), asked.steps, asked.count, asked.from_start)
            print(line(row), flush=True)
            whole = whole and row.equal == row.rollouts
    return 0 if whole else 3


if __name__ == "__main__":
    sys.exit(main())
