"""What was written is read back bit for bit; old and damaged files are met in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenodds.domain import Group, Limits, Status, Stop, Verdict
from evenodds.errors import RunError
from evenodds.learner import Update
from evenodds.objectives import RECIPES
from evenodds.records import (
    as_parquet,
    read_groups,
    read_rows,
    read_table,
    rollout_files,
    rollout_table,
)
from evenodds.step import StepReport
from tests.tiny import make_group, make_rollout

NEW = ["round", "entropy", "last_logprobs", "audit_status", "audit_score", "audit_note"]
ODD = np.array([-1e-38, -0.1, -np.float32(1) / 3, -17.25], np.float32)


def odd_group(key: str = "k") -> Group:
    """A group with all that a file has to hold."""
    rollout = make_rollout(
        4,
        logprobs=ODD,
        reference_logprobs=ODD * np.float32(1.5),
        seed=2**62 + 1,
        version=7,
        stop=Stop.STOP_STRING,
        text="␛[31m\n<b>⏎",
        limits=Limits(9, 0.7, ("\n",)),
    )
    empty = replace(rollout, ids=rollout.ids[:0], logprobs=ODD[:0], reference_logprobs=ODD[:0])
    verdicts = [
        Verdict(1 / 3, Status.RIGHT, "7", "box", {"score": 1.0, "overlong": -2 / 3}),
        Verdict(0.0, Status.TIMEOUT),
    ]
    group = make_group([0, 0], [1, 1], key=key)
    return Group(group.problem, [rollout, empty], verdicts)


def written(path: Path, *groups: Group, audit=None, **update) -> Path:
    known = Update({}, **update) if update else None
    report = StepReport([*groups], RECIPES["dr_grpo"], sizes=(len(groups),), update=known)
    prompts = ["a prompt " * 20] * len(groups)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_parquet(rollout_table(3, report, "number", prompts, audit)))
    return path


def test_a_group_comes_back_bit_for_bit(tmp_path) -> None:
    group = odd_group()
    audit = [[Verdict(1.0, Status.RIGHT), Verdict(0.0, Status.ERROR, note="down")]]
    path = written(tmp_path / "f", group, audit=audit, logprobs={0: ODD}, entropies={0: -ODD})
    (found,) = read_groups(path)
    assert (found.step, found.number, found.round) == (3, 0, 0)
    assert found.problem.key == group.problem.key and found.problem.level == group.problem.level
    for answer, was, verdict in zip(found.answers, group.rollouts, group.verdicts, strict=True):
        now = answer.rollout
        for name in ("prompt_ids", "ids", "logprobs", "reference_logprobs"):
            one, two = getattr(now, name), getattr(was, name)
            assert one.dtype == two.dtype and one.tobytes() == two.tobytes(), name
        for name in ("stop", "text", "version", "seed", "limits"):
            assert getattr(now, name) == getattr(was, name), name
        assert answer.verdict == verdict
    first, second = found.answers
    assert first.learned.tobytes() == ODD.tobytes() and first.entropy.tobytes() == (-ODD).tobytes()
    assert second.learned is None and first.last is None
    assert [answer.audit for answer in found.answers] == audit[0]
    assert found.group.rewards.tolist() == [1 / 3]
    assert first.rollout.prompt_tail == ("a prompt " * 20)[-64:]


def test_one_group_and_few_columns_are_all_that_is_read(tmp_path) -> None:
    path = written(tmp_path / "f", odd_group("a"), odd_group("b"), odd_group("c"))
    assert [group.problem.key for group in read_groups(path, 1)] == ["b"]
    rows = read_rows(path, ("problem_key", "parts"), group=2)
    assert rows[0] == {"problem_key": "c", "parts": {"score": 1.0, "overlong": -2 / 3}}
    assert rows[1] == {"problem_key": "c", "parts": {}}
    assert read_groups(path, 9) == []
    assert read_table(path, ("level",)).values("level") == [0] * 6


def test_an_old_file_is_read_as_if_the_new_columns_were_null(tmp_path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = written(tmp_path / "f", odd_group())
    old = parquet.read_table(path).drop_columns(NEW)
    at = old.schema.get_field_index("temperature")
    old = old.set_column(at, "temperature", old.column("temperature").cast(pa.float32()))
    parquet.write_table(old, path)
    (found,) = read_groups(path)
    assert found.round is None and found.answers[0].entropy is None
    assert found.answers[0].audit is None
    assert {row["audit_note"] for row in read_rows(path)} == {None}


@pytest.mark.parametrize("damage", ["empty", "torn", "text", "folder", "missing"])
def test_a_damaged_file_is_one_line(tmp_path, damage) -> None:
    path = written(tmp_path / "f", odd_group())
    whole = path.read_bytes()
    if damage in ("folder", "missing"):
        path.unlink()
    if damage == "folder":
        path.mkdir()
    if damage in ("empty", "torn", "text"):
        path.write_bytes({"empty": b"", "torn": whole[:900], "text": b"PAR1 no"}[damage])
    with pytest.raises(RunError) as error:
        read_groups(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("status", ["right", "bribed"]),
        ("stop", ["end_token", None]),
        ("reward", ["a", "b"]),
        ("group", [None, 0]),
        ("logprobs", [[-0.5], []]),
        ("completion_ids", [[1, None, 2, 3], []]),
        ("completion_ids", [None, None]),
        ("parts", ["x", "y"]),
        ("seed", [2**70 * 1.0, 1.0]),
    ],
)
def test_columns_of_another_kind_are_one_line(tmp_path, column, values) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = written(tmp_path / "f", odd_group())
    table = parquet.read_table(path)
    at = table.schema.get_field_index(column)
    parquet.write_table(table.set_column(at, column, pa.array(values)), path)
    with pytest.raises(RunError, match="is damaged"):
        read_groups(path)


def test_the_files_of_a_run_by_their_step(tmp_path) -> None:
    assert rollout_files(tmp_path) == {}
    for name in ("step-00012.parquet", "step-00002.parquet", "step-2.txt", "notes"):
        (tmp_path / "rollouts").mkdir(exist_ok=True)
        (tmp_path / "rollouts" / name).touch()
    assert list(rollout_files(tmp_path)) == [2, 12]
