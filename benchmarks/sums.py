"""SmolLM2 learns two-digit sums: python benchmarks/sums.py [--seeds 0 1 2]

Runs recipes/smollm2-sums.toml once a seed and prints greedy and sampled accuracy on held-out pairs
with intervals, the seconds of training alone, and peak memory. Exit 3 if the gain of greedy
accuracy is below 35 points, training took over 300 s, or memory was over 6 GB.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from common import train


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--root", type=Path, default=Path("runs/sums"))
    found, flags = parser.parse_known_args()
    kept = True
    for seed in found.seeds:
        recipe = ["recipes/smollm2-sums.toml", "--seed", str(seed), *flags]
        done = train(f"sums-seed{seed}", found.root, recipe)
        rows, peak = done.metrics, done.peak / 1000
        training = sum(row["time/step"] for row in rows)
        print(f"\nseed {seed}: {len(rows)} steps, training {training:.0f} s", end="")
        print(f" of {done.seconds:.0f} s in all,")
        print(f"  peak memory {peak:.2f} GB, {done.folder}")
        for level in done.comparison.levels:
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
