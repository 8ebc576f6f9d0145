"""What `evenodds init` writes, and what it does where it cannot."""

from __future__ import annotations

import errno
import json
import re
import tomllib
from pathlib import Path

import pytest

from evenodds.cli import main
from evenodds.domain import Completion, Status
from evenodds.run.config import make_config
from evenodds.tasks import check_gold, make_task


def test_the_problems_are_distinct_products_with_the_larger_operand_first(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "mine")]) == 0
    lines = (tmp_path / "mine" / "problems.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    pairs = [tuple(map(int, row["prompt"].removesuffix("=").split("*"))) for row in rows]
    assert len(set(pairs)) == len(rows) == 400
    assert all(99 >= a >= b >= 10 for a, b in pairs)
    assert [row["answer"] for row in rows] == [str(a * b) for a, b in pairs]


def test_the_task_fits_its_verifier_and_holds_a_tenth_out(tmp_path: Path) -> None:
    main(["init", str(tmp_path / "mine")])
    verifier = f"{tmp_path / 'mine' / 'verifier.py'}:grade"
    task = make_task(str(tmp_path / "mine" / "problems.jsonl"), verifier=verifier)
    check_gold(task)
    problem, *others = task.held_out(0)
    assert len(others) == 39
    judged = [
        task.verifier(problem, Completion(f"{before}{problem.answer}")).status for before in "#1"
    ]
    assert judged == [Status.RIGHT, Status.WRONG]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / "file" / "mine")]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "cannot write" in shown


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path, capsys) -> None:
    assert main(["init", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert tmp_path.is_dir()


@pytest.mark.parametrize("full", ["above", "mine", "evenodds.toml", "verifier.py"])
def test_a_full_disk_is_a_failure_and_leaves_nothing(tmp_path, monkeypatch, capsys, full) -> None:
    """Neither half a folder, nor those above it that were made for it."""

    def failing(whole):
        def inner(path: Path, *arguments, **options):
            if path.name == full:
                raise OSError(errno.ENOSPC, "full")
            return whole(path, *arguments, **options)

        return inner

    for name in ("write_text", "mkdir"):
        monkeypatch.setattr(Path, name, failing(getattr(Path, name)))
    assert main(["init", str(tmp_path / "above" / "mine")]) == 1
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1 and "No space left" in shown.err and shown.out == ""
    assert list(tmp_path.iterdir()) == []


def test_the_config_is_valid_with_every_setting_uncommented(tmp_path: Path) -> None:
    main(["init", str(tmp_path / "mine")])
    text = (tmp_path / "mine" / "evenodds.toml").read_text()
    config = make_config(tomllib.loads(re.sub(r"(?m)^# (?=\w+ = )", "", text)))
    assert config.learner.learning_rate == 5e-4
    assert 'kind = "uniform"  # ladder | uniform | fixed: ' in text
