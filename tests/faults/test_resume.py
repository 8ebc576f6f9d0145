"""Runs that are ended and taken up again, and checkpoints without a part; as many as fit."""

from __future__ import annotations

import json

import pytest

from tests.faults import ablation, resume
from tests.faults.drawn import drawn

ARMS = ("dapo, LoRA, 4 passes", "evaluations on the way")


@pytest.mark.parametrize("name", ARMS)
def test_a_run_that_was_ended_anywhere_goes_on_bit_for_bit(name, tmp_path, budget) -> None:
    """All of them: python -m benchmarks.durability --only R1."""
    arm = resume.arm_of(name, tmp_path)
    assert len(arm.whole["metrics"]) == resume.STEPS
    stories = list(resume.stories_of(arm, name))
    for number, story in enumerate(drawn(stories, budget / 2)):
        assert resume.tell(story, arm, f"story-{number}") == [], str(story)


def test_a_part_that_a_checkpoint_lost_is_refused_or_noticed(tmp_path, budget) -> None:
    """All of them: python -m benchmarks.durability --only R2."""
    arm = ablation.arm_for(tmp_path)
    run = ablation.stopped(arm, ablation.WITHIN)
    record = json.loads((ablation.newest(run) / "state.json").read_text())
    for number, loss in enumerate(drawn(list(ablation.losses(record)), budget / 2)):
        what, told = ablation.tell(arm, run, loss, f"loss-{number}")
        assert what in ("refused", "noticed"), (loss.part, loss.how, told)
