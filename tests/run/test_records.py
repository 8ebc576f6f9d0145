"""What a step writes down, from groups that are made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenodds import __version__
from evenodds.curricula import make_curriculum
from evenodds.domain import Group, Limits, Status, Verdict
from evenodds.learner import Update
from evenodds.objectives import RECIPES, EntropyBonus
from evenodds.run.folder import RunFolder
from evenodds.run.records import step_metrics
from evenodds.records import COLUMNS, rollout_table
from evenodds.run.writer import RunWriter
from evenodds.step import State, StepReport
from evenodds.tasks import make_task
from tests.tiny import make_group, make_rollout, rollout_rows

TASK = make_task("multiplication")
BROKEN = Verdict(0.0, Status.ERROR, note="down")


def with_broken(group: Group, *places: int) -> Group:
    """The group with answers that could not be judged."""
    verdicts = [BROKEN if at in places else v for at, v in enumerate(group.verdicts)]
    return Group(group.problem, group.rollouts, verdicts)


def metrics_of(*groups: Group) -> dict:
    before = State(make_curriculum("ladder", TASK))
    after = before.observed([*groups])
    return step_metrics(before, after, StepReport([*groups], RECIPES["dr_grpo"], skipped="nothing"))


def test_a_group_is_what_its_judged_answers_are() -> None:
    found = metrics_of(
        with_broken(make_group([1, 1, 0], [2, 2, 2]), 2),  # right, as far as it was judged
        with_broken(make_group([0, 0, 1], [2, 2, 2]), 2),
        with_broken(make_group([0, 1, 1], [2, 2, 2]), 2),
        with_broken(make_group([1, 0], [2, 2]), 0, 1),
    )
    names = ("mixed", "all_right", "all_wrong", "not_judged")
    assert [found[f"groups/{name}"] for name in names] == [0.25] * 4


def test_what_the_curriculum_believes_of_a_level_is_written() -> None:
    found = metrics_of(make_group([1, 0, 0, 0], [2, 2, 2, 2]))
    assert 0 < found[f"posterior/{TASK.levels[0]}"] < 0.5
    assert "posterior/solve_rate" not in found


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


def test_the_entropy_coefficient_is_shown_also_while_nothing_is_paid() -> None:
    before = State(make_curriculum("ladder", TASK), bonus=EntropyBonus(0.3, 0.01, seen=0.5))
    group = make_group([1, 1], [2, 2])
    report = StepReport([group], before.bonus.applied(RECIPES["dr_grpo"]), skipped="nothing")
    shown = step_metrics(before, before.observed([group]), report)
    assert (shown["entropy/coefficient"], shown["entropy/coefficient_held"]) == (0.0, 0.01)
    plain = metrics_of(group)
    assert not any(name.startswith("entropy/coefficient") for name in plain)
