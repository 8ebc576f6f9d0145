"""Small real runs, whose rollouts are made again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from evenodds.cli import main
from evenodds.errors import RunError, UsageError
from evenodds.records import read_rows, rollout_files
from evenodds.replay import drawn, name_of, of_step, replay
from evenodds.replay.told import as_dict, conditions, lines_of
from tests.run.small_runs import run as train

SIX = {
    "run.steps": 6,
    "run.save_every": 4,
    "evaluation.problems": 1,
    "evaluation.control": "none",
    "evaluation.greedy": False,
    "check.bench": False,
    "task.held_out": 4,
    "evaluation.levels": (0,),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """All weights, groups refilled, two passes."""
    kind = {
        "objective.recipe": "dapo",
        "sampling.rounds": 3,
        "sampling.temperature": 0.7,
        "policy.adapter": "none",
        "learner.passes": 2,
    }
    return train(tmp_path_factory.mktemp("refilled"), **SIX, **kind).folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """An adapter, a KL, an entropy bonus that moves, few rows at once."""
    kind = {
        "objective.recipe": "grpo",
        "objective.kl": 0.1,
        "objective.entropy_target": 0.6,
        "policy.adapter": "lora",
        "sampling.max_rows": 8,
    }
    return train(tmp_path_factory.mktemp("plain"), **SIX, **kind).folder


@pytest.mark.parametrize("kind", ["folder", "plain"])
def test_random_rollouts_are_bit_equal(kind, request) -> None:
    run = request.getfixturevalue(kind)
    found = list(replay(run, drawn(run, 40, seed=1)))
    assert len(found) == 40
    assert {one.match.kind for one in found} == {"bit-equal"}
    assert all(one.equal == one.answers for one in found)
    assert {one.begun for one in found} == {"the start", "the checkpoint of step 4"}
    assert all(one.departure is None and one.judgement.same for one in found)
    assert not any(one.different for one in found)
    gaps = [
        abs(one.share.loss - one.share.recorded_loss)
        for one in found
        if one.share.loss is not None and one.share.recorded_loss is not None
    ]
    assert gaps and max(gaps) < 1e-6
    assert all(
        one.share.part is None or one.share.part.advantage == one.share.recorded_advantage
        for one in found
    )


def test_without_checkpoints_all_updates_are_made_again(folder, tmp_path) -> None:
    copy = shutil.copytree(folder, tmp_path / "r")
    name = of_step(copy, 6)[-1]
    (one,) = replay(copy, [name], from_start=True)
    assert one.match.kind == "bit-equal" and one.begun == "the start" and one.departure is None
    for checkpoint in (copy / "checkpoints").glob("step-*"):
        (checkpoint / "optimizer.safetensors").write_bytes(b"torn")
    (two,) = replay(copy, [name])
    assert (two.again, two.begun, two.match) == (one.again, "the start", one.match)


def test_a_record_that_was_changed_is_found(plain, tmp_path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    copy = shutil.copytree(plain, tmp_path / "r")
    path = copy / "rollouts" / "step-00006.parquet"
    table = parquet.read_table(path)
    ids = table.column("completion_ids").to_pylist()
    logprobs = table.column("logprobs").to_pylist()
    ids[1][2] = ids[1][2] % 5 + 3
    logprobs[2][0] -= 1e-6
    for name, values in (("completion_ids", ids), ("logprobs", logprobs)):
        at = table.schema.get_field_index(name)
        table = table.set_column(
            at, table.schema.field(at), pa.array(values, table.schema.types[at])
        )
    parquet.write_table(table, path)
    kinds = [one.match for one in replay(copy, [name_of(f"6/0/{at}") for at in range(3)])]
    assert [one.kind for one in kinds] == ["bit-equal", "differs", "rounding"]
    assert (kinds[1].at, kinds[2].at, kinds[2].differing) == (3, 1, 1)
    assert 0.5e-6 < kinds[2].largest < 2e-6


FLIPS = {
    "reward": lambda value: float(np.nextafter(value, 2.0)),
    "advantage": lambda value: float(np.nextafter(value, 9.0)),
    "seed": lambda value: value ^ 1,
    "gold": lambda value: value + "1",
    "completion": lambda value: value + "9",
    "temperature": lambda value: value / 2,
    "kept": lambda value: not value,
}


@pytest.mark.parametrize("column", FLIPS)
def test_every_column_that_says_something_wrong_is_named(plain, tmp_path, column, capsys) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    copy = shutil.copytree(plain, tmp_path / "r")
    path = copy / "rollouts" / "step-00006.parquet"
    table = parquet.read_table(path)
    row = table.column("kept").to_pylist().index(True)
    name = "/".join(str(table.column(part)[row].as_py()) for part in ("step", "group", "answer"))
    at = table.schema.get_field_index(column)
    values = table.column(column).to_pylist()
    values[row] = FLIPS[column](values[row])
    made = pa.array(values, table.schema.types[at])
    parquet.write_table(table.set_column(at, table.schema.field(at), made), path)
    assert main(["replay", str(copy), name]) == 3
    shown = capsys.readouterr()
    assert f"wrong in {column}: recorded" in shown.out or column == "reward"
    assert {"reward": "its verdict"}.get(column, column) in shown.err


def test_an_update_that_is_not_what_its_line_says_is_named(plain, tmp_path) -> None:
    copy = shutil.copytree(plain, tmp_path / "r")
    lines = (copy / "metrics.jsonl").read_text().splitlines()
    row = json.loads(lines[1])
    was = row["grad_norm"]
    row["grad_norm"] = was * 1.5
    (copy / "metrics.jsonl").write_text("\n".join([lines[0], json.dumps(row), *lines[2:]]) + "\n")
    (one,) = replay(copy, [name_of("4/0/0")])
    assert json.loads(json.dumps(as_dict(one)))["departure"]["step"] == 2
    assert one.departure is not None
    assert (one.departure.step, one.departure.name, one.departure.now) == (2, "grad_norm", was)
    assert one.match.kind == "bit-equal"
    assert "step 2 differs: grad_norm was" in "\n".join(lines_of(one)).replace("\n           ", " ")


def test_what_cannot_be_made_again_says_why(plain, tmp_path) -> None:
    copy = shutil.copytree(plain, tmp_path / "r")
    (copy / "rollouts" / "step-00002.parquet").unlink()
    with pytest.raises(RunError, match="step 2 are not there"):
        list(replay(copy, [name_of("4/0/0")]))
    (one,) = replay(copy, [name_of("5/0/0")])  # behind a checkpoint
    assert one.match.kind == "bit-equal"
    with pytest.raises(UsageError, match="no rollouts of step 9"):
        of_step(copy, 9)
    last = of_step(copy, 1)[-1]
    for name, there in (("1/99/0", f"groups 0 to {last.group}"), ("1/0/99", f"0 to {last.answer}")):
        with pytest.raises(UsageError, match=rf"{there}\. Got {name}\. Choose another"):
            next(iter(replay(copy, [name_of("1/0/0"), name_of(name)])))  # before anything is made
    config = (copy / "config.toml").read_text().replace('name = "multiplication"', 'name = "own"')
    (copy / "config.toml").write_text(config)
    with pytest.raises(UsageError, match="made from Python"):
        list(replay(copy, [name_of("1/0/0")]))


def test_other_hardware_is_said_before_anything_is_compared(plain, tmp_path) -> None:
    copy = shutil.copytree(plain, tmp_path / "r")
    path = copy / "passports" / "engine.json"
    sittings = json.loads(path.read_text())
    sittings["sittings"][0] |= {"torch": "2.0\x1b[31m", "hardware": "AVX9"}
    path.write_text(json.dumps(sittings))
    (one,) = replay(copy, [name_of("5/0/0")])
    told = conditions(one.different)
    assert "torch 2.0␛[31m, now" in told and "instructions AVX9" in told
    path.unlink()  # an old run has none; its environment passport tells
    (one,) = replay(copy, [name_of("1/0/0")])
    assert one.match.kind == "bit-equal" and not one.different


def test_old_files_without_rounds_are_told_by_their_seeds(folder, tmp_path) -> None:
    from pyarrow import parquet

    copy = shutil.copytree(folder, tmp_path / "r")
    for path in (copy / "rollouts").glob("*.parquet"):
        table = parquet.read_table(path)
        parquet.write_table(table.drop_columns(["round", "entropy", "last_logprobs"]), path)
    found = list(replay(copy, drawn(copy, 10, seed=2)))
    assert {one.match.kind for one in found} == {"bit-equal"}


def test_the_command(plain, capsys) -> None:
    run = str(plain)
    learned = next(row for row in read_rows(rollout_files(plain)[6]) if row["kept"])
    assert main(["replay", run, f"6/{learned['group']}/{learned['answer']}"]) == 0
    shown = capsys.readouterr().out
    assert "bit-equal" in shown and "verdict" in shown and "metrics.jsonl has" in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert main(["replay", run, "--all-of-step", "5"]) == 0
    assert "24 of 24 rollouts bit-equal, of 1 step." in capsys.readouterr().out
    assert main(["replay", run]) == 2
    assert "only one of these" in capsys.readouterr().err
    assert main(["replay", run, "6.0.1"]) == 2
    assert "STEP/GROUP/ANSWER" in capsys.readouterr().err
    assert main(["replay", run + "x", "6/0/1"]) == 2
