"""The demo's figures: python benchmarks/demo.py [--seeds 0 1 2] [--root runs/benchmark] [-- flags].

Runs `evenodds train` as a person does, once a seed, in a process of its own, and prints what the
demonstration promises beside what came out. Exit 3 if a promise is not kept.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import Run, train

from evenodds.statistics import Estimate, paired_difference, wilson_interval

WEAK = 0.60  # greedy accuracy of the base below which a level counts as one with something to gain


@dataclass(frozen=True)
class Check:
    name: str
    value: str
    promise: str
    kept: bool


def greedy_where_weak(base: dict, final: dict) -> tuple[Estimate, Estimate, Estimate]:
    """Greedy accuracy before and after (Wilson), and the paired difference, at the weak levels."""
    before: list[float] = []
    after: list[float] = []
    for old, new in zip(base["levels"], final["levels"], strict=True):
        rights = [float(p["greedy_right"] is True) for p in old["problems"]]
        if np.mean(rights) < WEAK:
            before += rights
            after += [float(p["greedy_right"] is True) for p in new["problems"]]

    def rate(values: list[float]) -> Estimate:
        return Estimate(float(np.mean(values)), *wilson_interval(sum(values), len(values)))

    return rate(before), rate(after), paired_difference(before, after)


def checks(done: Run) -> list[Check]:
    base, final = done.evaluation("base"), done.evaluation("final")
    found, rows = done.comparison, done.metrics
    last = rows[len(rows) // 2 :]
    rate = float(np.mean([row["solve_rate"] for row in last]))
    every = float(np.mean([row["solve_rate/all"] for row in last]))
    climb = float(np.mean([row["difficulty"] for row in rows[-10:]])) - rows[0]["difficulty"]
    overall = found.overall
    weak_before, weak_after, weak_gain = greedy_where_weak(base, final)
    worst = min(found.levels, key=lambda level: level.gain.high)
    risen = [
        f"{level.label} {level.before.sampled.mean:.1%} → {level.after.sampled.mean:.1%}"
        for level in found.levels
        if level.before.sampled.mean < 0.05 and level.after.sampled.mean > 0.20
    ]
    apart = overall.after.sampled.low > overall.before.sampled.high
    greedy_apart = weak_after.low > weak_before.high
    return [
        Check("seconds, all included", f"{done.seconds:.0f}", "≤ 120", done.seconds <= 120),
        Check("peak memory", f"{done.peak:.0f} MB", "< 1000 MB", done.peak < 1000),
        Check("solve rate, last half", f"{rate:.3f}", "0.5 ± 0.1", abs(rate - 0.5) <= 0.1),
        Check("  of the whole batch", f"{every:.3f}", "0.5 ± 0.1", abs(every - 0.5) <= 0.1),
        Check("difficulty climbed", f"{climb:+.2f} levels", "≥ 2", climb >= 2),
        Check(
            "sampled, whole ladder",
            f"{overall.before.sampled} → {overall.after.sampled}, {overall.gain.points()}",
            "≥ 25 points, intervals apart",
            overall.gain.mean >= 0.25 and apart,
        ),
        Check(
            "greedy where base < 60 %",
            f"{weak_before} → {weak_after}, {weak_gain.points()}",
            "≥ 15 points, intervals apart",
            weak_gain.mean >= 0.15 and greedy_apart,
        ),
        Check(
            "worst level",
            f"{worst.label} {worst.gain.points()}",
            "no interval wholly below -5",
            worst.gain.high >= -0.05,
        ),
        Check("from < 5 % to > 20 %", "; ".join(risen) or "none", "one level", bool(risen)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--root", type=Path, default=Path("runs/benchmark"))
    found, flags = parser.parse_known_args()
    kept = True
    for seed in found.seeds:
        seeded = ["--seed", str(seed), *(flag for flag in flags if flag != "--")]
        done = train(f"demo-seed{seed}", found.root, seeded)
        print(f"\nseed {seed}: {len(done.metrics)} steps, {done.folder}")
        for row in checks(done):
            kept &= row.kept
            mark = "ok  " if row.kept else "MISS"
            print(f"  {mark} {row.name:<26} {row.value}   [{row.promise}]")
        for level in done.comparison.levels:
            print(
                f"       {level.label:<12} sampled {level.before.sampled.mean:.1%} → "
                f"{level.after.sampled.mean:.1%} ({level.gain.points()}), greedy "
                f"{level.before.greedy} → {level.after.greedy}"
            )
    print("\nevery promise kept" if kept else "\na promise was not kept")
    return 0 if kept else 3


if __name__ == "__main__":
    sys.exit(main())
