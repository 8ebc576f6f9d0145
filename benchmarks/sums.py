"""SmolLM2 learns two-digit sums: python benchmarks/sums.py [--seeds 0 1 2]

Runs recipes/smollm2-sums.toml once a seed and prints greedy and sampled accuracy on held-out pairs
with intervals, the seconds of training alone, and peak memory. Exit 3 if the gain of greedy
accuracy is below 35 points, training took over 300 s, or memory was over 6 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from evenodds.report.comparison import compare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--root", type=Path, default=Path("runs/sums"))
    found, flags = parser.parse_known_args()
    kept = True
    for seed in found.seeds:
        name = f"sums-seed{seed}-{int(time.time())}"
        command = [sys.executable, "-m", "evenodds", "train", "recipes/smollm2-sums.toml"]
        command += ["--seed", str(seed), "--run.root", str(found.root), "--name", name, *flags]
        started = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        total = time.monotonic() - started
        folder = found.root / name
        base, final = (
            json.loads((folder / "evaluation" / f"{side}.json").read_text())
            for side in ("base", "final")
        )
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        training = sum(row["time/step"] for row in rows)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
        print(
            f"\nseed {seed}: {len(rows)} steps, training {training:.0f} s of {total:.0f} s in all,"
        )
        print(f"  peak memory {peak:.2f} GB, {folder}")
        for level in compare(base, final).levels:
            print(f"  {level.label}, {level.problems} held-out pairs:")
            print(f"    greedy  {level.before.greedy} → {level.after.greedy}", end="")
            print(f", {level.greedy_gain.points() if level.greedy_gain else ''}")
            print(f"    sampled {level.before.sampled} → {level.after.sampled}", end="")
            print(f", {level.gain.points()}")
            if level.level == 2:
                gain = level.greedy_gain.mean if level.greedy_gain else 0.0
                kept &= gain >= 0.35 and training <= 300 and peak < 6
    print("\nkept" if kept else "\nMISS")
    return 0 if kept else 3


if __name__ == "__main__":
    sys.exit(main())
