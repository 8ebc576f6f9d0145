"""A run goes on only with the problems and the model that it began with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenodds.errors import RunError, UsageError
from evenodds.policies.load import load_policy
from evenodds.run.build import policy_options
from evenodds.run.engine import base_mark
from tests.run.small_runs import config_in, run
from tests.tiny import make_policy


def small(root: Path) -> dict[str, object]:
    """Settings of a run of one step on a file of problems, which is made below `root`."""
    data = root / "problems.jsonl"
    rows = [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(10) for b in range(10)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {
        "task__name": "data",
        "task__data": str(data),
        "task__verifier": "number",
        "curriculum__kind": "uniform",
        "evaluation__levels": (0,),
        "run__steps": 1,
    }


def test_a_data_file_that_changed_is_refused(tmp_path) -> None:
    given = small(tmp_path)
    data = tmp_path / "problems.jsonl"
    run(tmp_path, **given)
    written = data.read_text()
    data.write_text(written.replace('"answer": "4"', '"answer": "5"'))
    with pytest.raises(UsageError, match=r"other problems: .*problems\.jsonl has changed"):
        run(tmp_path, **{**given, "run__steps": 2})
    data.write_text(written)
    assert run(tmp_path, **{**given, "run__steps": 2}).steps == 2


@pytest.mark.parametrize("over", [{"policy__adapter": "lora"}, {"objective__kl": 0.1}, {}])
def test_a_model_that_changed_is_refused_where_it_is_still_asked(tmp_path, over) -> None:
    model = tmp_path / "model"
    make_policy("qwen3").save(model)
    given = {**small(tmp_path), **over, "policy__name": str(model)}
    run(tmp_path, **given)
    other = make_policy("qwen3")
    for weight in other.model.parameters():
        weight.data.mul_(1.01)
    other.save(model)
    if over:
        with pytest.raises(RunError, match="began with another model"):
            run(tmp_path, **{**given, "run__steps": 2})
    else:  # all weights are those of the checkpoint
        assert run(tmp_path, **{**given, "run__steps": 2}).steps == 2


def test_the_mark_of_a_model_is_the_same_in_any_precision_and_with_any_adapter(tmp_path) -> None:
    make_policy("qwen3").save(tmp_path)
    marks = {
        base_mark(
            load_policy(policy_options(config_in(tmp_path, **{"policy.name": str(tmp_path)} | one)))
        )
        for one in ({}, {"policy.dtype": "bfloat16"}, {"policy.adapter": "lora"})
    }
    assert len(marks) == 1
