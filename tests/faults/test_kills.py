"""R3, a random share of it: kill -9, and the same command goes on as if nothing had been."""

from __future__ import annotations

import random

import pytest

from benchmarks.durability_parts.kills import at_calls, at_moments
from tests.faults.drawn import drawn
from tests.faults.stories import Setting, Story, checked, start, tell, undisturbed


@pytest.fixture(scope="module")
def setting(tmp_path_factory) -> Setting:
    return undisturbed(tmp_path_factory.mktemp("kills"), run__steps=3, run__keep=1)


def told(stories: dict[str, Story], setting: Setting, budget: float) -> dict[str, list[str]]:
    """What was amiss in those that fit into the budget, by the name of the story."""
    found = {name: tell(stories[name], setting, name) for name in drawn(sorted(stories), budget)}
    return {name: amiss for name, amiss in found.items() if amiss}


@pytest.mark.timeout(600)
def test_killed_before_or_after_a_call_that_changes_the_disk(setting, budget) -> None:
    stories = at_calls(setting)
    assert len(stories) > 400
    assert told(stories, setting, budget / 2) == {}


@pytest.mark.timeout(600)
def test_killed_once_or_eight_times_at_any_moment_or_paused(setting, budget) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"moments of seed {seed}")
    assert told(at_moments(setting, seed), setting, budget / 2) == {}


def test_the_harness_notices_a_step_that_was_saved_and_is_lost(setting) -> None:
    """A checkpoint is removed behind the run's back: that is what a broken protocol would do."""
    import shutil

    start(setting, "robbed", 0).wait()
    shutil.rmtree(setting.root / "robbed" / "checkpoints" / "step-000003")
    assert checked(setting, "robbed") == ["lost: step 3 was saved, 0 is left"]
    torn = setting.root / "robbed" / "rollouts" / "step-00001.parquet"
    torn.write_bytes(torn.read_bytes()[:100])
    assert any(what.startswith("unreadable: ") for what in checked(setting, "robbed"))
