"""The table of a step's rollouts, from groups that are made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenodds import __version__
from evenodds.domain import Group, Limits, Status, Verdict
from evenodds.learner import Update
from evenodds.objectives import RECIPES
from evenodds.records import COLUMNS, rollout_table
from evenodds.run.folder import RunFolder
from evenodds.run.writer import RunWriter
from evenodds.step import StepReport
from tests.tiny import make_group, make_rollout, rollout_rows


def rows_of(group: Group, logprobs: dict) -> list[dict]:
    report = StepReport([group], RECIPES["dr_grpo"], update=Update({}, logprobs))
    return rollout_rows(1, report, "number", ["1*2="])


def test_the_ratio_is_that_of_the_first_pass() -> None:
    group = make_group([1, 0], [3, 4])
    rows = rows_of(group, {0: group.rollouts[0].logprobs + np.float32(0.5)})
    assert rows[0]["ratio"] == pytest.approx([np.exp(0.5)] * 3, rel=1e-5)
    assert rows[1]["ratio"] is None
    assert rows[0]["verifier_version"] == __version__


def test_every_column_is_filled_and_none_is_there_twice(tmp_path) -> None:
    limits = Limits(64, stop_strings=("\n", "\ud800"))
    group = make_group([1, 0], [3, 4], limits=limits)
    report = StepReport([group], RECIPES["dr_grpo"], update=Update({}, {0: np.full(3, -0.5)}))
    table = rollout_table(1, report, "number", ["1*2=\udfff"])
    assert set(table.schema.names) == set(COLUMNS)
    folder = RunFolder(tmp_path)
    RunWriter(folder).rollouts(1, table)
    from pyarrow import parquet

    read = parquet.read_table(folder.rollouts(1)).to_pylist()
    assert read[0]["stop_strings"] == ["\n", "?"]
    assert read[0]["cut_length"] == len(read[0]["completion"]) == 3
    assert [row["prompt"] for row in read] == ["1*2=?"] * 2
    assert read[0]["learner_logprobs"] == [-0.5] * 3 and read[1]["learner_logprobs"] is None
    assert [row["completion_ids"] for row in read] == [r.ids.tolist() for r in group.rollouts]
    assert all(row["prompt_ids"] == group.rollouts[0].prompt_ids.tolist() for row in read)
    assert read[1]["reference_logprobs"] is None and read[1]["step"] == 1


def test_an_answer_without_tokens_is_not_kept() -> None:
    group = make_group([1, 0], [3, 4])
    empty = replace(make_rollout(1), ids=np.zeros(0, np.int64), logprobs=np.zeros(0, np.float32))
    group = Group(group.problem, [group.rollouts[0], empty], group.verdicts)
    row = rows_of(group, {})[1]
    assert not row["kept"] and "no tokens" in row["why"]


def test_rounds_entropies_and_the_last_pass_stand_beside_each_answer() -> None:
    groups = [make_group([1, 0], [2, 3], key=str(at)) for at in range(3)]
    first, entropy, last = ({1: np.full(3, value, np.float32)} for value in (-0.5, 0.25, -0.75))
    update = Update({}, first, entropy, last)
    report = StepReport(groups, RECIPES["dr_grpo"], sizes=(2, 1), update=update)
    rows = rollout_rows(1, report, "number", [""] * 3)
    assert [row["round"] for row in rows] == [0, 0, 0, 0, 1, 1]
    assert rows[1]["entropy"] == [0.25] * 3 and rows[1]["last_logprobs"] == [-0.75] * 3
    assert rows[0]["entropy"] is None and rows[0]["last_logprobs"] is None
    assert all(row["audit_status"] is None for row in rows)


def test_what_an_audit_says_stands_beside_what_was_paid() -> None:
    group = make_group([1, 0], [2, 3])
    audit = [[Verdict(0.0, Status.WRONG, note="a guess"), Verdict(0.5, Status.RIGHT)]]
    report = StepReport([group], RECIPES["dr_grpo"])
    rows = rollout_table(1, report, "number", [""], audit).to_pylist()
    found = [[row[f"audit_{name}"] for name in ("status", "score", "note")] for row in rows]
    assert found == [["wrong", 0.0, "a guess"], ["right", 0.5, ""]]
