"""The step with fakes at its edges: what happens, in which order, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evenodds.curricula import make_curriculum
from evenodds.domain import Limits
from evenodds.judge import InlineJudge
from evenodds.learner import Update
from evenodds.objectives import RECIPES
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.step import State, StepConfig, Tools, learner_logprobs, train_step
from evenodds.tasks import make_task

TASK = make_task("multiplication")


@dataclass
class Recorder:
    """A learner that only remembers."""

    batches: list = field(default_factory=list)

    def update(self, batch, objective) -> Update:
        self.batches.append(batch)
        return Update({"loss": 0.0}, {a.index: a.old_logprobs for a in batch.answers})

    def weights(self):
        return "weights"


def make(script, groups=4, group_size=4):
    learner = Recorder()
    tools = Tools(ScriptedSampler(script), InlineJudge(TASK.verifier), learner)
    config = StepConfig(groups, group_size, Limits(20), RECIPES["dr_grpo"])
    state = State(make_curriculum("ladder", TASK))
    return state, tools, config, learner


def sometimes_right(prompt, rng) -> str:
    a, b = prompt.rstrip("=").split("*")
    return str(int(a) * int(b)) if rng.random() < 0.5 else "1"


def test_a_step_learns_from_informative_groups_only_and_loads_the_new_weights() -> None:
    state, tools, config, learner = make(sometimes_right, groups=8)
    after, report = train_step(state, tools, config)
    (batch,) = learner.batches
    useful = [group for group in report.groups if group.is_informative]
    assert 0 < len(batch.prompts) == len(useful)
    assert batch.extent.rollouts == 4 * len(useful)
    assert (after.step, after.version) == (1, 1)
    assert tools.sampler.loaded == [1]
    assert after.tokens == sum(r.ids.size for g in report.groups for r in g.rollouts)
    assert (state.step, state.version, state.tokens) == (0, 0, 0)


def test_when_every_group_agrees_the_step_is_skipped_and_still_counted() -> None:
    state, tools, config, learner = make(lambda prompt, rng: "0")
    after, report = train_step(state, tools, config)
    assert learner.batches == []
    assert (after.step, after.version) == (1, 0)
    assert "nothing to learn from" in report.skipped
    assert tools.sampler.loaded == []


def test_the_curriculum_sees_all_groups() -> None:
    def right(prompt, rng):
        a, b = prompt.rstrip("=").split("*")
        return str(int(a) * int(b))

    state, tools, config, _ = make(right)
    after, _ = train_step(state, tools, config)
    assert after.curriculum.metrics()["difficulty"] > 0.3


def test_a_step_depends_on_seed_and_step_alone() -> None:
    state, tools, config, _ = make(sometimes_right)
    keys = [[g.problem.key for g in train_step(state, tools, config)[1].groups] for _ in range(2)]
    assert keys[0] == keys[1]
    later = State(state.curriculum, seed=0, step=1)
    assert [g.problem.key for g in train_step(later, tools, config)[1].groups] != keys[0]
    assert later.sampling_seed != state.sampling_seed


def test_the_learners_logprobs_find_their_rollouts() -> None:
    def script(prompt, rng):
        return sometimes_right(prompt, rng) if len(prompt) % 2 else "0"

    state, tools, config, _ = make(sometimes_right, groups=8)
    _, report = train_step(state, tools, config)
    found = learner_logprobs(report)
    assert len(found) == sum(len(g.rollouts) for g in report.groups if g.is_informative)
    for (group, answer), values in found.items():
        assert report.groups[group].is_informative
        assert np.array_equal(values, report.groups[group].rollouts[answer].logprobs)
