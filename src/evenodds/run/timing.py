"""Seconds of each effect, measured around the tools so that the step stays as it reads."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from evenodds.batch import Batch
from evenodds.domain import Group, Limits, Problem, Prompt, Rollout, Verdict
from evenodds.judge import Judge, Judging, begin
from evenodds.learner import Learner, Update
from evenodds.objectives import Objective
from evenodds.reference import Reference
from evenodds.sampling import Finished, Sampler
from evenodds.step import Tools


@dataclass
class Stopwatch:
    """Seconds by name since the last `lap`."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def measure(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start

    def lap(self) -> dict[str, float]:
        """The seconds so far, as `time/NAME`; the watch starts anew."""
        taken = {f"time/{name}": value for name, value in self.seconds.items()}
        self.seconds.clear()
        return taken


@dataclass
class _TimedSampler:
    inner: Sampler
    watch: Stopwatch

    def sample(
        self,
        prompts: Sequence[Prompt],
        group_size: int,
        limits: Limits,
        seed: int,
        finished: Finished | None = None,
    ) -> list[list[Rollout]]:
        with self.watch.measure("sample"):
            return self.inner.sample(prompts, group_size, limits, seed, finished)

    def load(self, weights: Any, version: int) -> None:
        with self.watch.measure("load"):
            self.inner.load(weights, version)


@dataclass
class _TimedJudging:
    """What is measured is the waiting: what was judged while answers were sampled cost nothing."""

    inner: Judging
    watch: Stopwatch

    def give(self, index: int, rollouts: Sequence[Rollout]) -> None:
        self.inner.give(index, rollouts)

    def verdicts(self, rollouts: Sequence[Sequence[Rollout]]) -> list[list[Verdict]]:
        with self.watch.measure("judge"):
            return self.inner.verdicts(rollouts)

    def __enter__(self) -> Self:
        self.inner.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.inner.__exit__(kind, error, trace)


@dataclass
class _TimedJudge:
    inner: Judge
    watch: Stopwatch

    def begin(self, problems: Sequence[Problem]) -> Judging:
        return _TimedJudging(begin(self.inner, problems), self.watch)

    def judge(
        self, problems: Sequence[Problem], rollouts: Sequence[Sequence[Rollout]]
    ) -> list[list[Verdict]]:
        with self.watch.measure("judge"):
            return self.inner.judge(problems, rollouts)


@dataclass
class _TimedLearner:
    inner: Learner
    watch: Stopwatch

    def update(self, batch: Batch, objective: Objective) -> Update:
        with self.watch.measure("learn"):
            return self.inner.update(batch, objective)

    def weights(self) -> Any:
        return self.inner.weights()


@dataclass
class _TimedReference:
    inner: Reference
    watch: Stopwatch

    def annotate(self, groups: Sequence[Group]) -> list[Group]:
        with self.watch.measure("reference"):
            return self.inner.annotate(groups)


def timed(tools: Tools, watch: Stopwatch) -> Tools:
    """The same tools, with their seconds on `watch`."""
    return Tools(
        _TimedSampler(tools.sampler, watch),
        _TimedJudge(tools.judge, watch),
        _TimedLearner(tools.learner, watch),
        tools.reference and _TimedReference(tools.reference, watch),
        tools.examine,
    )
