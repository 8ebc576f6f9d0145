"""A step that metrics.jsonl has no line of is made again all the same, and counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evenodds.cli import main
from evenodds.replay import name_of, replay
from evenodds.replay.told import as_dict, summary, weights
from tests.run.small_runs import run as train


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    over = {"evaluation.problems": 1, "check.bench": False, "evaluation.levels": (0,)}
    return train(tmp_path_factory.mktemp("runs"), **over, **{"task.held_out": 4}).folder


@pytest.mark.parametrize(
    ("left_out", "compared", "said"),
    [
        ((), 3, "3 updates computed again from the records, each with the loss"),
        ((2,), 2, "2 of them with the loss"),
        ((1, 2, 3), 0, "none held against metrics.jsonl, which has no line of them"),
    ],
)
def test_steps_without_a_line_are_counted(whole, tmp_path, left_out, compared, said) -> None:
    copy = shutil.copytree(whole, tmp_path / "r")
    lines = (copy / "metrics.jsonl").read_text().splitlines(keepends=True)
    kept = [line for step, line in enumerate(lines, 1) if step not in left_out]
    (copy / "metrics.jsonl").write_text("".join(kept))
    (one,) = replay(copy, [name_of("4/0/0")], from_start=True)
    assert (one.again, one.compared, one.departure) == (3, compared, None)
    assert (as_dict(one)["updates_again"], as_dict(one)["updates_compared"]) == (3, compared)
    assert said in weights(one)
    told = f"{3 - compared} update{'s' * (compared < 2)} on the way had no line"
    assert (told in "\n".join(summary([one, one]))) == (compared < 3)
    assert ("1 of them had no line in metrics.jsonl" in weights(one)) == (left_out == (2,))


def test_the_progress_names_its_unit(whole, monkeypatch, capsys) -> None:
    monkeypatch.setattr("evenodds.report.progress.QUIET", 0.0)
    assert main(["replay", str(whole), "--random", "20", "--from-start"]) == 0
    assert "replay, steps: 1 of " in capsys.readouterr().err
