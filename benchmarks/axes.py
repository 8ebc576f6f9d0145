"""Does a run still learn with each axis changed from the command line? python benchmarks/axes.py

One short run of the bundled model for each choice, with the paired gain on held-out problems.
Exit 3 if a run's 95 % interval does not lie above zero.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from common import train

SHORT = ["--steps", "45", "--evaluation.problems", "25", "--evaluation.samples", "4"]
CHOICES: dict[str, list[str]] = {
    "default (dr_grpo)": [],
    "recipe grpo": ["--objective", "grpo"],
    "recipe dapo": ["--objective", "dapo"],
    "recipe rloo": ["--objective", "rloo"],
    "recipe gspo, two passes": ["--objective", "gspo", "--learner.passes", "2"],
    "recipe cispo": ["--objective", "cispo"],
    "recipe sapo, two passes": ["--objective", "sapo", "--learner.passes", "2"],
    "recipe dual_clip, two passes": ["--objective", "dual_clip", "--learner.passes", "2"],
    "recipe maxrl": ["--objective", "maxrl"],
    "recipe reinforce": ["--objective", "reinforce"],
    "recipe reinforce_pp": ["--objective", "reinforce_pp"],
    "recipe reinforce_pp_baseline": ["--objective", "reinforce_pp_baseline"],
    "KL k3 in the loss": ["--objective.kl", "0.02"],
    "KL k1 weighted in the loss": [
        *("--objective.kl", "0.02", "--objective.kl_estimator", "k1"),
        *("--objective.kl_weighted", "true"),
    ],
    "KL in the reward": ["--objective.kl", "0.02", "--objective.kl_in", "reward"],
    "entropy target": ["--objective.entropy_target", "0.15"],
    "correction sequence_mask": ["--objective.correction", "sequence_mask"],
    "refill": ["--objective.zero_signal", "refill"],
    "credit standardized": ["--objective.credit", "standardized"],
    "credit standardized_sample": ["--objective.credit", "standardized_sample"],
    "credit leave_one_out": ["--objective.credit", "leave_one_out"],
    "credit mean_normalized": ["--objective.credit", "mean_normalized"],
    "reduce per_answer": ["--objective.reduce", "per_answer"],
    "reduce per_token": ["--objective.reduce", "per_token"],
    "surrogate reinforce": ["--objective.surrogate", "reinforce"],
    "clip .1/.1": ["--objective.clip_low", "0.1", "--objective.clip_high", "0.1"],
    "truncated scored": ["--objective.mask_truncated", "false"],
    "two passes a batch": ["--learner.passes", "2"],
    "temperature 0.8": ["--sampling.temperature", "0.8"],
    "curriculum uniform": ["--curriculum", "uniform"],
    "curriculum fixed at 2×2": ["--curriculum", "fixed", "--curriculum.levels", "4"],
    "LoRA": ["--policy.adapter", "lora", "--learner.learning_rate", "2e-3"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path("runs/axes"))
    parser.add_argument("--only", default="", help="choices whose name holds this")
    found = parser.parse_args()
    learned = True
    for number, (name, flags) in enumerate(CHOICES.items()):
        if found.only not in name:
            continue
        done = train(f"axis-{number}", found.root, [*SHORT, *flags])
        gain = done.comparison.overall.gain
        learned &= gain.low > 0
        print(f"{'ok  ' if gain.low > 0 else 'MISS'} {name:<30} {gain.points()}", flush=True)
    return 0 if learned else 3


if __name__ == "__main__":
    sys.exit(main())
