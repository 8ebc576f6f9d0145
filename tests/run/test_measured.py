"""A run and a policy evaluated afresh, as a comparison wants them."""

from __future__ import annotations

import json

import pytest

from evenodds.errors import UsageError
from evenodds.report.contrast import unlike
from evenodds.run.measured import afresh, named, stored
from tests.run.small_runs import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    quick = {"evaluation__levels": [0, 1], "evaluation__control": "none", "check__bench": False}
    run(root, run__steps=2, run__save_every=1, **quick)
    return root / "r"


def ignored(*_):
    """Progress that nobody looks at."""


def test_a_base_measured_again_is_what_was_written_down(folder) -> None:
    one = named(f"{folder}:base")
    record = stored(one).record
    again = afresh(one, one.saved, {})(ignored).record
    assert json.loads(json.dumps(again["levels"])) == record["levels"]
    assert unlike(record, json.loads(json.dumps(again))) == ""
    assert not one.is_trained and not one.random_reward


def test_a_run_a_step_and_a_policy_are_measured_alike(folder) -> None:
    like = named(str(folder)).saved
    over = {"evaluation.levels": [0], "evaluation.greedy": False}
    finished, step, policy = (
        afresh(named(name), like, over)(ignored)
        for name in (str(folder), f"{folder}:step-1", "abacus")
    )
    levels = [level["level"] for level in finished.record["levels"]]
    assert levels == [0] and finished.note == ""
    assert unlike(finished.record, policy.record) == unlike(step.record, policy.record) == ""
    base = stored(named(f"{folder}:base")).record
    assert (
        policy.record["levels"][0]["problems"][0]["key"]
        == (base["levels"][0]["problems"][0]["key"])
    )


def test_a_checkpoint_that_was_not_kept_is_refused(folder) -> None:
    with pytest.raises(UsageError, match="kept no checkpoint 'step-000009'"):
        afresh(named(f"{folder}:step-9"), named(str(folder)).saved, {})


def test_a_colon_in_a_name_that_is_no_run_is_a_policy(tmp_path) -> None:
    assert named("owner/model:tag").run is None
    assert named(str(tmp_path)).run is None
