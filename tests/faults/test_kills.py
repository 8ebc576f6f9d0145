"""R3, a random share of it: kill -9, and the same command goes on as if nothing had been."""

from __future__ import annotations

import random
from collections.abc import Generator
from pathlib import Path

import pytest

from benchmarks.durability_parts.kills import at_calls, at_moments
from evenodds.run.lookout import drop_after
from tests.faults.drawn import drawn
from tests.faults.scratch import scratch
from tests.faults.setting import Setting, undisturbed
from tests.faults.sittings import LATER, first_of, later_of
from tests.faults.stories import Story, checked, start, tell


@pytest.fixture(scope="module")
def setting(tmp_path_factory) -> Setting:
    return undisturbed(tmp_path_factory.mktemp("kills"), run__steps=3, run__keep=1)


@pytest.fixture(scope="module")
def first() -> Generator[Setting]:
    with scratch() as root:
        yield first_of(Path(root))


def told(stories: dict[str, Story], setting: Setting, budget: float) -> dict[str, list[str]]:
    """What was amiss in those that fit into the budget, by the name of the story."""
    found = {name: tell(stories[name], setting, name) for name in drawn(sorted(stories), budget)}
    return {name: amiss for name, amiss in found.items() if amiss}


@pytest.mark.timeout(600)
def test_killed_before_or_after_a_call_that_changes_the_disk(first, budget) -> None:
    stories = at_calls(first)
    assert len(stories) > 400
    assert told(stories, first, budget / 4) == {}


@pytest.mark.timeout(600)
def test_killed_in_a_later_sitting(first, budget) -> None:
    """All kinds of them: python -m benchmarks.durability --only R3."""
    setting = later_of(next(drawn(tuple(LATER), 0.0)), first)
    assert told(at_calls(setting), setting, budget / 4) == {}


@pytest.mark.timeout(600)
def test_killed_once_or_eight_times_at_any_moment_or_paused(setting, budget) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"moments of seed {seed}")
    assert told(at_moments(setting, seed), setting, budget / 2) == {}


def test_the_harness_notices_a_step_that_was_saved_and_is_lost(setting) -> None:
    """A checkpoint is removed behind the run's back: that is what a broken protocol would do."""
    import shutil

    start(setting, "robbed", 0).wait()
    shutil.rmtree(setting.run("robbed") / "checkpoints" / "step-000003")
    assert checked(setting, "robbed") == ["lost: step 3 was saved, 0 is left"]
    torn = setting.run("robbed") / "rollouts" / "step-00001.parquet"
    torn.write_bytes(torn.read_bytes()[:100])
    assert any(what.startswith("unreadable: ") for what in checked(setting, "robbed"))


def test_a_run_that_has_an_alarm_is_taken_up_as_often_as_one_likes(setting) -> None:
    """What a resume leaves of the files of lines is what the checkpoints know, byte for byte.

    Killed in the first step after a resume, nothing newer stands for what the resume has written.
    """
    for _ in range(3):
        assert start(setting, "again", 0).wait().code == 0
        assert checked(setting, "again") == []
    run = setting.run("again")
    assert (run / "alarms.jsonl").read_bytes()
    before = (run / "alarms.jsonl").read_bytes()
    drop_after(run / "alarms.jsonl", 3)
    assert (run / "alarms.jsonl").read_bytes() == before
    drop_after(run / "alarms.jsonl", 0)
    assert (run / "alarms.jsonl").read_bytes() == b""
