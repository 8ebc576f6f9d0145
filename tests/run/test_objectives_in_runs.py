"""Penalties, references, refilling and their state in runs: recorded, and resumed bit for bit."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest
from pyarrow import parquet

from evenodds.errors import UsageError
from evenodds.objectives.shaping import RESIDUE
from tests.run.small_runs import Quiet, assert_equal_runs, lines, run

EVERYTHING = {
    "objective__kl": 0.05,
    "objective__mask_truncated": False,
    "objective__entropy": 0.01,
    "objective__entropy_target": 0.3,
    "objective__correction": "token_truncate",
    "objective__zero_signal": "refill",
    "objective__overlong": 0.5,
    "curriculum__kind": "uniform",
    "learner__passes": 2,
    "learner__learning_rate": 0.003,
}


def rows_of(folder) -> list[dict]:
    return [
        row
        for file in sorted(folder.glob("rollouts/*.parquet"))
        for row in parquet.read_table(file).to_pylist()
    ]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    return run(tmp_path_factory.mktemp("everything"), **EVERYTHING).folder


def test_what_a_run_did_is_in_its_metrics(everything) -> None:
    every = lines(everything)
    rows = [row for row in every if "skipped" not in row]
    assert {"kl", "kl/k1", "kl/k2", "reward/score", "reward/overlong"} <= rows[-1].keys()
    assert "sampling/importance_sampling_ratio/mean" in rows[-1]
    assert any(row["groups/rounds"] > 1 for row in every)
    assert rows[0]["kl"] == pytest.approx(0, abs=1e-9)  # the reference is the policy itself
    assert rows[-1]["kl"] > 1e-6
    paid = [row.get("entropy/coefficient", 0.0) for row in rows]
    assert paid[0] == 0.01
    assert len(set(paid)) > 1  # the coefficient follows the entropy


def test_groups_that_were_replaced_are_recorded_as_they_were_judged(everything) -> None:
    first = [row for row in rows_of(everything) if row["step"] == 1]
    replaced = [row for row in first if row["why"] == "its group agreed"]
    assert len(first) > 6 * 4
    assert replaced
    assert all(row["reward"] in (0.0, 1.0) for row in replaced)
    assert any(row["reward"] not in (0.0, 1.0) for row in first)  # the others: overlong penalties


def test_rollouts_hold_the_reference_and_the_parts_of_their_reward(tmp_path) -> None:
    over = {"objective__kl": 0.05, "objective__kl_in": "reward", "learner__learning_rate": 0.01}
    folder = run(tmp_path, **over, run__steps=2).folder
    assert lines(folder)[-1]["reward/kl"] != 0
    for row in rows_of(folder):
        parts = {part["name"]: part["value"] for part in row["parts"]}
        assert row["reward"] == pytest.approx(sum(parts.values()))
        difference = np.subtract(row["logprobs"], row["reference_logprobs"])
        counted = difference[np.abs(difference) >= RESIDUE].sum()
        assert parts["kl"] == pytest.approx(-0.05 * counted, abs=1e-9)
        assert (row["status"] == "right") == (parts["score"] == 1)  # a penalty is no wrong answer


def test_all_of_it_goes_on_bit_for_bit(everything, tmp_path) -> None:
    view = Quiet(lambda step: os.kill(os.getpid(), signal.SIGINT) if step == 2 else None)
    assert run(tmp_path, view, **EVERYTHING).exit_code == 130
    assert_equal_runs(everything, run(tmp_path, **EVERYTHING).folder)


def test_a_lora_run_has_the_starting_adapter_as_reference(tmp_path) -> None:
    over = {"policy__adapter": "lora", "policy__rank": 2, "objective__kl": 0.1}
    one = run(tmp_path / "one", curriculum__kind="uniform", **over).folder
    view = Quiet(lambda step: os.kill(os.getpid(), signal.SIGINT) if step == 2 else None)
    run(tmp_path / "two", view, curriculum__kind="uniform", **over)
    assert_equal_runs(one, run(tmp_path / "two", curriculum__kind="uniform", **over).folder)
    with_kl = [row["kl"] for row in lines(one) if "kl" in row]
    assert with_kl[0] == pytest.approx(0, abs=1e-9)
    assert with_kl[-1] > 0


OWN = "def fading(log_ratio, tokens):\n    return tokens.advantages * log_ratio.exp()\n"


def test_the_folder_keeps_the_source_of_an_objective_of_ones_own(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    name = f"{tmp_path / 'mine.py'}:fading"
    folder = run(tmp_path, objective__surrogate=name, run__steps=1).folder
    found = json.loads((folder / "passports" / "objective.json").read_text())
    assert found["surrogate"] == "fading"
    assert found["own_sources"] == {"surrogate": {"name": name, "text": OWN}}


def test_a_run_does_not_go_on_with_changed_code(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "grade.py").write_text("def grade(p, text):\n    return p.answer in text\n")
    over = {
        "objective__surrogate": f"{tmp_path / 'mine.py'}:fading",
        "task__verifier": f"{tmp_path / 'grade.py'}:grade",
        "check__bench": False,  # it pays whatever names the gold
    }
    run(tmp_path, **over, run__steps=1)
    (tmp_path / "mine.py").write_text(OWN.replace("exp()", "exp() * 2"))
    with pytest.raises(UsageError, match="another objective of your own"):
        run(tmp_path, **over, run__steps=2)
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "grade.py").write_text("def grade(p, text):\n    return True\n")
    with pytest.raises(UsageError, match="another verifier of your own"):
        run(tmp_path, **over, run__steps=2)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"objective__kl_in": "loss"}, "has no coefficient"),
        ({"objective__entropy_step": 0.1}, "no objective.entropy_target"),
        ({"objective__ratio": "sequence"}, "only the reduction"),
        ({"objective__surrogate": "nowhere.py:f"}, "does not exist"),
    ],
)
def test_an_objective_that_cannot_be_is_refused_before_anything_is_written(
    tmp_path, over, message
) -> None:
    with pytest.raises(UsageError, match=message):
        run(tmp_path, **over)
    assert not (tmp_path / "r").exists()
