"""What TRL's own loss says, written down: python -m benchmarks.trl_goldens [--write].

Runs one optimizer step of TRL 1.16 for each mode below on each of twelve random batches, and
compares losses, gradients and advantages with tests/golden/trl.json.gz; with --write it writes that
file. Exit 3 if they differ. Needs the extra: pip install -e '.[benchmarks]'.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.metadata
import json
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trl_cases import Case, far_case, noisy_case, random_case
from benchmarks.trl_harness import VERSION, step

FILE = Path(__file__).parent.parent / "tests" / "golden" / "trl.json.gz"
CASES = 12
SAME = 1e-12

VLLM: dict[str, Any] = {"vllm_importance_sampling_clip_max": 1.5}
KL_PLAIN: dict[str, Any] = {"use_bias_correction_kl": False}
GSPO: dict[str, Any] = {"loss_type": "grpo", "importance_sampling_level": "sequence"}
DAPO: dict[str, Any] = {"loss_type": "dapo", "epsilon": 0.2, "epsilon_high": 0.28}


def mode(trainer: str = "grpo", **settings: Any) -> dict[str, Any]:
    """config: fields of TRL's own configuration. The rest is what only a running trainer has.

    beta: with a reference model. vllm: answers come from another sampler. micro_batches: of one
    optimizer step. slices: of one generation batch. on_policy: the first
    update on a batch. cases: "whole" (the default), "truncated", "unjudged", "far" or "noisy".
    """
    known = {"config", "beta", "vllm", "micro_batches", "slices", "cases", "on_policy"}
    config = {k: v for k, v in settings.items() if k not in known}
    return {"trainer": trainer, "config": config} | {k: settings[k] for k in settings if k in known}


MODES: dict[str, dict[str, Any]] = {
    # the losses
    "grpo": mode(loss_type="grpo"),
    "grpo, asymmetric clip": mode(loss_type="grpo", epsilon=0.1, epsilon_high=0.28),
    "grpo, two-sided": mode(loss_type="grpo", delta=1.5),
    "bnpo": mode(loss_type="bnpo"),
    "dr_grpo": mode(loss_type="dr_grpo", scale_rewards="none"),
    "dapo": mode(**DAPO),
    "gspo": mode(**GSPO, epsilon=3e-4, epsilon_high=4e-4),
    "gspo, wide clip": mode(**GSPO, epsilon=0.1, epsilon_high=0.15),
    "gspo, two-sided": mode(**GSPO, epsilon=0.1, epsilon_high=0.15, delta=1.3),
    "cispo": mode(loss_type="cispo", epsilon_high=1.5),
    "cispo, default cap": mode(loss_type="cispo"),
    "cispo, recommended cap": mode(loss_type="cispo", epsilon_high=5.0),
    "sapo": mode(loss_type="sapo"),
    "sapo, other temperatures": mode(
        loss_type="sapo", sapo_temperature_pos=0.7, sapo_temperature_neg=2.0
    ),
    "sapo by sequence": mode(loss_type="sapo", importance_sampling_level="sequence"),
    # the reference
    "grpo, KL": mode(loss_type="grpo", beta=0.1, **KL_PLAIN),
    "grpo, weighted KL": mode(loss_type="grpo", beta=0.1),
    "dr_grpo, KL": mode(loss_type="dr_grpo", scale_rewards="none", beta=0.1, **KL_PLAIN),
    "dapo, weighted KL": mode(**DAPO, beta=0.1),
    "gspo, KL": mode(**GSPO, epsilon=0.1, beta=0.1, **KL_PLAIN),
    "gspo, weighted KL": mode(**GSPO, epsilon=0.1, beta=0.1),
    "cispo, weighted KL": mode(loss_type="cispo", epsilon_high=1.5, beta=0.1),
    "sapo, weighted KL": mode(loss_type="sapo", beta=0.1),
    # another sampler
    **{
        f"dapo, {name} correction": mode(
            **DAPO, vllm=True, vllm_importance_sampling_mode=name.replace(" ", "_"), **VLLM
        )
        for name in ("token truncate", "token mask", "sequence truncate", "sequence mask")
    },
    "grpo, correction": mode(
        loss_type="grpo", vllm=True, vllm_importance_sampling_mode="token_truncate", **VLLM
    ),
    "gspo, correction": mode(**GSPO, epsilon=0.1, vllm=True, **VLLM),
    "cispo, correction": mode(loss_type="cispo", epsilon_high=1.5, vllm=True, **VLLM),
    "sapo, correction": mode(loss_type="sapo", vllm=True, **VLLM),
    "dr_grpo, two-sided, weighted KL, correction": mode(
        loss_type="dr_grpo", delta=1.5, beta=0.1, vllm=True, **VLLM
    ),
    # the entropy bonus
    "dapo, entropy": mode(**DAPO, entropy_coef=0.05),
    "grpo, entropy": mode(loss_type="grpo", entropy_coef=0.05),
    # answers cut by the budget
    "dapo, truncated masked": mode(**DAPO, mask_truncated_completions=True, cases="truncated"),
    "dapo, truncated scored": mode(**DAPO, cases="truncated"),
    "cispo, truncated masked": mode(
        loss_type="cispo", epsilon_high=1.5, mask_truncated_completions=True, cases="truncated"
    ),
    "grpo, truncated masked": mode(
        loss_type="grpo", mask_truncated_completions=True, cases="truncated"
    ),
    "dr_grpo, truncated masked": mode(
        loss_type="dr_grpo", mask_truncated_completions=True, cases="truncated"
    ),
    # micro-batches
    **{
        f"{name} in 2 micro-batches": mode(loss_type=name, micro_batches=2)
        for name in ("grpo", "dr_grpo", "dapo", "bnpo", "sapo")
    },
    "cispo in 2 micro-batches": mode(loss_type="cispo", epsilon_high=1.5, micro_batches=2),
    "gspo in 2 micro-batches": mode(**GSPO, epsilon=0.1, micro_batches=2),
    "dapo, everything, in 2 micro-batches": mode(
        **DAPO,
        delta=1.5,
        beta=0.1,
        vllm=True,
        **VLLM,
        mask_truncated_completions=True,
        cases="truncated",
        micro_batches=2,
    ),
    "dapo, entropy, in 2 micro-batches": mode(**DAPO, entropy_coef=0.05, micro_batches=2),
    "dapo, half of a generation batch": mode(**DAPO, slices=2),
    "dr_grpo, half of a generation batch": mode(loss_type="dr_grpo", slices=2),
    # advantages
    "dapo, scale batch": mode(**DAPO, scale_rewards="batch"),
    "dapo, scale none": mode(**DAPO, scale_rewards="none"),
    "dapo, noisy rewards": mode(**DAPO, cases="noisy"),
    # answers that could not be judged
    "dapo, unjudged": mode(**DAPO, cases="unjudged"),
    "grpo, unjudged": mode(loss_type="grpo", cases="unjudged"),
    # the edges
    "dapo, far": mode(**DAPO, cases="far"),
    "grpo, two-sided under the clip": mode(loss_type="grpo", delta=1.1),
    "dapo, uncorrected sampler": mode(**DAPO, vllm=True, vllm_importance_sampling_correction=False),
    "dapo, adaptive entropy": mode(**DAPO, entropy_coef=0.05, use_adaptive_entropy=True),
    # RLOO
    "rloo, first update": mode("rloo", on_policy=True),
    "rloo": mode("rloo"),
    "rloo, KL in the reward": mode("rloo", beta=0.05),
    "rloo in 2 micro-batches": mode("rloo", micro_batches=2),
    # what evenodds has under no name
    "luspo": mode(loss_type="luspo", importance_sampling_level="sequence", epsilon=0.1),
    "vespo": mode(loss_type="vespo"),
    "dapo, off-policy mask": mode(**DAPO, off_policy_mask_threshold=0.05),
    "dapo, top entropy": mode(**DAPO, top_entropy_quantile=0.4),
}


def cases(kind: str) -> list[Case]:
    """The batches of the goldens. Their numbers of answers are even, for two micro-batches."""
    if kind in ("far", "noisy"):
        return [far_case() if kind == "far" else noisy_case()]
    rng = np.random.default_rng([116, *kind.encode()])
    return [random_case(rng, kind) for _ in range(CASES)]


def goldens() -> dict[str, Any]:
    """Every mode on every case."""
    kinds = {settings.get("cases", "whole") for settings in MODES.values()}
    batches = {kind: cases(kind) for kind in sorted(kinds)}
    return {
        "trl": VERSION,
        "cases": {kind: [case.to_dict() for case in found] for kind, found in batches.items()},
        "modes": {
            name: {
                "settings": settings,
                "outcomes": outcomes(settings, batches[settings.get("cases", "whole")]),
            }
            for name, settings in MODES.items()
        },
    }


def outcomes(settings: dict[str, Any], batches: list[Case]) -> list[dict[str, Any]]:
    return [asdict(step(case, settings, seed)) for seed, case in enumerate(batches)]


def difference(new: Any, old: Any) -> float:
    """The largest difference of two structures' numbers; infinite where their shapes differ."""
    if isinstance(new, dict) and isinstance(old, dict) and new.keys() == old.keys():
        return max((difference(new[key], old[key]) for key in new), default=0.0)
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return max((difference(a, b) for a, b in zip(new, old, strict=True)), default=0.0)
    if isinstance(new, float) and isinstance(old, float):
        return abs(new - old)
    return 0.0 if new == old else float("inf")


def main() -> int:
    warnings.simplefilter("ignore")  # transformers warns of itself at every step
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the file instead of comparing")
    arguments = parser.parse_args()
    found = importlib.metadata.version("trl")
    if found != VERSION:
        print(f"The goldens are of TRL {VERSION}. Got {found}. Install trl=={VERSION}.")
        return 2
    new = goldens()
    if arguments.write:
        text = json.dumps(new, separators=(",", ":"))
        FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{len(new['modes'])} modes: {FILE.stat().st_size / 1e3:.0f} kB")
        return 0
    gap = difference(new, json.loads(gzip.decompress(FILE.read_bytes())))
    print(f"largest difference from {FILE.name}: {gap:.1e}")
    return 0 if gap <= SAME else 3


if __name__ == "__main__":
    sys.exit(main())
