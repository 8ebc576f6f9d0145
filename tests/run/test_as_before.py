"""A run that goes on computes as it did before, or says what is not the same."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from evenodds.policies.memory import Precision
from evenodds.run.as_before import changed, planned_as_before, threads_before
from evenodds.run.engine import prepare_process
from evenodds.run.memory import MemoryPlan, Work, choose
from tests.run.small_runs import Quiet, lines, run, weights
from tests.run.test_memory import QWEN

WORK = Work("cuda", prompt=10, answer=20, group_size=4, rows=64)
SITTING = {
    "rows": 32,
    "kv_tokens": 960,
    "micro_batch_tokens": 4096,
    "gradient_checkpointing": False,
}


@pytest.fixture
def plan() -> MemoryPlan:
    return choose(QWEN, Precision(2, 16), WORK, 139 * 10**9)


def test_what_was_chosen_is_taken_again(plan) -> None:
    assert (plan.rows, plan.micro_batch_tokens) == (64, 8192)
    again = planned_as_before(plan, [{}, SITTING])
    assert {name: getattr(again, name) for name in SITTING} == SITTING
    assert planned_as_before(plan, []) == plan


@pytest.mark.parametrize(
    "work",
    [
        replace(WORK, tokens=2048),
        replace(WORK, checkpointing=True),
        replace(WORK, rows=16),
        replace(WORK, answer=5000),
    ],
    ids=["fewer tokens", "checkpointing", "fewer rows", "longer answers"],
)
def test_what_is_set_otherwise_or_too_short_is_not_taken_again(plan, work) -> None:
    other = choose(plan.sizes, plan.precision, work, plan.memory)
    assert planned_as_before(other, [SITTING]) == other


def test_what_does_not_fit_is_not_taken_again(plan) -> None:
    less = choose(plan.sizes, plan.precision, WORK, 10**9)
    assert planned_as_before(less, [{**SITTING, "rows": 64, "kv_tokens": 10**9}]) == less


def test_what_is_not_the_same_is_said() -> None:
    assert changed([], {"torch": "3"}) == changed([{"torch": "3"}], {"torch": "3"}) == ""
    told = changed([{"torch": "2", "threads": 2}], {"torch": "3", "threads": 2})
    assert told.startswith("another sitting than before: the version of torch (2, now 3).")


def test_threads_are_those_of_the_sitting_before_where_there_are_so_many_cores(monkeypatch) -> None:
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("evenodds.run.engine.usable_cores", lambda: 3)
    try:
        for threads, expected in ((2, 2), (None, 3), (8, 3)):
            prepare_process(threads)
            assert torch.get_num_threads() == expected
    finally:
        torch.set_num_threads(before)
    assert [threads_before(s) for s in ([], [{}], [{"threads": 0}], [{"threads": 2}])] == [
        None,
        None,
        None,
        2,
    ]


def test_a_run_goes_on_in_the_parts_it_began_with(tmp_path, monkeypatch) -> None:
    """The memory of another moment would cut the batches otherwise, and change the last bits."""
    whole = {"run.repeatable": True, "run.save_every": 1}
    run(tmp_path / "whole", **whole)
    assert torch.are_deterministic_algorithms_enabled()
    run(tmp_path / "parts", **{**whole, "run.steps": 2})
    monkeypatch.setattr("evenodds.run.memory.FASTEST", {"cpu": 256, "cuda": 256})
    view = Quiet()
    run(tmp_path / "parts", view=view, **whole)
    prepare_process()
    assert not torch.are_deterministic_algorithms_enabled()
    assert not any("another sitting" in note for note in view.notes)
    assert lines(tmp_path / "whole" / "r") == lines(tmp_path / "parts" / "r")
    one, two = (weights(tmp_path / name / "r") for name in ("whole", "parts"))
    assert all((one[name] == two[name]).all() for name in one)
    sittings = json.loads((tmp_path / "parts/r/passports/engine.json").read_text())["sittings"]
    assert {sitting["micro_batch_tokens"] for sitting in sittings} == {4096}
