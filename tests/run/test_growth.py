"""Nothing grows with the number of steps: counted in bytes and reads, for seconds are noisy."""

from __future__ import annotations

import gc
import json
import os
import tracemalloc
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from evenodds.curricula import Curriculum, make_curriculum
from evenodds.domain import Limits, Status, Verdict
from evenodds.learner import Update
from evenodds.objectives import make_objective
from evenodds.records import rollout_table
from evenodds.run.background import Background
from evenodds.run.folder import RunFolder
from evenodds.run.records import step_metrics
from evenodds.run.timing import Stopwatch, timed
from evenodds.run.writer import RunWriter
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.step import State, StepConfig, Tools, train_step
from evenodds.tasks import make_task

TASK = make_task("multiplication")
STEPS = 90


@dataclass
class Still:
    """A learner that learns nothing and keeps nothing."""

    def update(self, batch: Any, objective: Any) -> Update:
        logprobs = {answer.index: answer.old_logprobs for answer in batch.answers}
        return Update({"loss": 0.0, "entropy": 0.1}, logprobs)

    def weights(self) -> None: ...


class Alternating:
    """A judge that remembers nothing; the house's verifiers keep some thousand golds at most."""

    def judge(self, problems: Any, rollouts: Any) -> list[list[Verdict]]:
        kinds = (Verdict(1.0, Status.RIGHT), Verdict(0.0, Status.WRONG))
        return [[kinds[at % 2] for at, _ in enumerate(group)] for group in rollouts]


class Forgetful(ScriptedSampler):
    """The scripted sampler without its memory of what was loaded."""

    def load(self, weights: Any, version: int) -> None:
        self.version = version


def half(prompt: Any, rng: np.random.Generator) -> str:
    a, b = prompt.rstrip("=").split("*")
    return str(int(a) * int(b)) if rng.random() < 0.5 else "1"


def make(kind: str) -> tuple[State, Tools, StepConfig, Stopwatch]:
    watch = Stopwatch()
    tools = timed(Tools(Forgetful(half), Alternating(), cast(Any, Still())), watch)
    config = StepConfig(2, 4, Limits(20), make_objective())
    curriculum: Curriculum = make_curriculum(kind, TASK)
    return State(curriculum), tools, config, watch


def taken(
    state: State, tools: Tools, config: StepConfig, watch: Stopwatch, writer: RunWriter, steps: int
) -> State:
    """Steps with their records, as a session takes them."""
    background = Background()
    for _ in range(steps):
        before = state
        state, report = train_step(state, tools, config)
        prompts = [str(group.problem.prompt) for group in report.groups]
        table = rollout_table(state.step, report, "number", prompts)
        background.do(lambda step=state.step, table=table: writer.rollouts(step, table))
        line = {**step_metrics(before, state, report), **watch.lap()}
        background.do(lambda line=line: writer.metrics.append(line))
    background.settle()
    background.close()
    return state


def test_memory_is_flat(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    writer = RunWriter(RunFolder(tmp_path))
    state, *rest = make("ladder")
    state = taken(state, *rest, writer, 30)  # caches are full, the curriculum has seen its levels
    tracemalloc.start()
    try:
        held = []
        for _ in range(3):
            state = taken(state, *rest, writer, STEPS // 3)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert state.step == 30 + STEPS
    assert len(list((tmp_path / "rollouts").iterdir())) == state.step
    grown = (held[-1] - held[-2]) / (STEPS // 3)
    print(f"\n{held} bytes: at the end {grown:.0f} a step")
    assert grown < 1000  # a line of metrics has some 2,000 bytes, the rollouts of a step 20,000


def test_the_state_that_is_saved_does_not_grow() -> None:
    for kind in ("ladder", "uniform"):
        state, tools, config, watch = make(kind)
        sizes = []
        for _ in range(120):
            state, _ = train_step(state, tools, config)
            watch.lap()
            sizes.append(len(json.dumps(state.curriculum.to_dict())))
        assert max(sizes[60:]) <= 1.2 * max(sizes[:60])


def test_a_line_costs_the_same_wherever_it_stands(tmp_path, monkeypatch) -> None:
    """Appending reads no more of a long file than of a short one, and no folder is listed."""
    writer = RunWriter(RunFolder(tmp_path))
    seen: list[str] = []
    monkeypatch.setattr(os, "listdir", lambda *given: seen.append("listdir"))
    monkeypatch.setattr(os, "scandir", lambda *given: seen.append("scandir"))
    state, tools, config, _ = make("uniform")
    state, report = train_step(state, tools, config)
    table = rollout_table(1, report, "number", ["", ""])
    read = []
    for step in range(40):
        before = _bytes_read()
        writer.rollouts(step, table)
        writer.metrics.append({"step": step, "padding": "x" * 2000})
        read.append(_bytes_read() - before)
    assert seen == []
    assert max(read[20:]) <= max(read[:20]) + 64


def _bytes_read() -> int:
    """Of this process, so far; where the system does not say, nothing is compared."""
    try:
        with open("/proc/self/io") as file:
            return int(file.readline().split()[1])
    except OSError:
        return 0
