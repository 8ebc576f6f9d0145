"""TRL itself beside us, on fresh random batches. Only where TRL 1.16 is: the `benchmarks` extra."""

from __future__ import annotations

import importlib.metadata
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from tests.golden import trl_ours as ours

try:
    FOUND = importlib.metadata.version("trl")
except importlib.metadata.PackageNotFoundError:
    FOUND = "none"

pytestmark = [
    pytest.mark.skipif(
        FOUND != "1.16.0", reason=f"needs TRL 1.16.0, got {FOUND}: pip install -e '.[benchmarks]'"
    ),
    pytest.mark.filterwarnings("ignore"),  # of TRL and what it imports
    pytest.mark.timeout(300),
]

SAME = 1e-12
FIELD = re.compile(r"`(\w+)`")


def test_the_goldens_are_what_trl_says() -> None:
    from benchmarks.trl_goldens import difference, goldens

    assert difference(json.loads(json.dumps(goldens())), ours.goldens()) <= SAME


@pytest.mark.parametrize("mode", [*ours.EQUAL, *ours.BY_HAND])
def test_fresh_batches_have_the_same_loss_and_gradient(mode) -> None:
    from benchmarks.trl_compare import deviation

    loss, gradient = deviation(mode, count=15, seed=7)
    assert loss <= SAME
    assert gradient <= SAME


@pytest.mark.parametrize("mode", ["grpo", "dr_grpo", "dapo", "cispo", "sapo", "gspo, wide clip"])
def test_every_split_into_micro_batches_has_our_one_gradient(mode) -> None:
    from benchmarks.trl_compare import spread

    assert max(spread(mode, count=4, seed=7).values()) <= SAME


def test_bnpo_has_another_gradient_for_each_split() -> None:
    from benchmarks.trl_compare import spread

    found = spread("bnpo", count=4, seed=7)
    assert found[1] <= SAME
    assert min(found[splits] for splits in (2, 3, 4, 6, 12)) > 1e-3


@pytest.mark.parametrize("length", [0, 1, 5, 6, 7, 8, 9])
def test_the_soft_overlong_penalty_is_that_of_trl(length) -> None:
    from trl.rewards import get_soft_overlong_punishment

    from evenodds.objectives.shaping import soft_overlong

    (theirs,) = get_soft_overlong_punishment(8, 2)(completion_ids=[[0] * length])
    assert soft_overlong(length, 8, share=0.25) == pytest.approx(theirs, abs=SAME)


def test_the_fields_that_the_guide_translates_are_those_of_trl() -> None:
    from trl import GRPOConfig, RLOOConfig

    text = (Path(__file__).parents[2] / "docs" / "trl.md").read_text()
    rows = text.split("## Coming from TRL")[1].split("\n## ")[0].splitlines()
    named = {
        name for row in rows if row.startswith("| `") for name in FIELD.findall(row.split("|")[1])
    }
    known = {field.name for kind in (GRPOConfig, RLOOConfig) for field in fields(kind)}
    assert len(named) > 35
    assert named <= known


def test_the_configuration_in_the_guide_is_one_of_trl_s(tmp_path) -> None:
    from trl import GRPOConfig

    from tests.golden.test_trl_guide import theirs

    quiet = {"use_cpu": True, "bf16": False, "report_to": "none"}
    config = GRPOConfig(output_dir=str(tmp_path), **quiet, **theirs())
    assert config.generation_batch_size == 64  # 8 groups of 8 answers, one optimizer step
    assert (config.use_bias_correction_kl, config.use_vllm) == (True, False)
    assert (config.scale_rewards, config.mask_truncated_completions) == ("group", False)
    assert (config.warmup_steps, config.adam_beta1, config.weight_decay) == (0, 0.9, 0)
