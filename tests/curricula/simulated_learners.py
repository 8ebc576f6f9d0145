"""Simulated learners and sources: what a controller meets, without a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenodds.curricula import Curriculum
from evenodds.domain import Group, Problem, Rollout, Status, Stop, Verdict

RIGHT = Verdict(1.0, Status.RIGHT)
WRONG = Verdict(0.0, Status.WRONG)
NOTHING = np.zeros(0, dtype=np.int64)
ROLLOUT = Rollout(NOTHING, NOTHING, np.zeros(0, dtype=np.float32), Stop.END_TOKEN, "")


@dataclass(frozen=True)
class Source:
    """`count` levels, each with `size` problems."""

    count: int = 12
    size: int = 1_000_000

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(f"L{level}" for level in range(self.count))

    def generate(self, level: int, rng: np.random.Generator) -> Problem:
        return Problem(f"{level}:{rng.integers(self.size)}", "?", "!", "simulated", level)


def group(level: int, verdicts: Sequence[Verdict]) -> Group:
    problem = Problem(f"{level}", "?", "!", "simulated", level)
    return Group(problem, [ROLLOUT] * len(verdicts), verdicts)


def scored(level: int, right: int, size: int = 8) -> Group:
    return group(level, [RIGHT] * right + [WRONG] * (size - right))


@dataclass(frozen=True)
class Learner:
    """Solves a level with logistic chances: `slope` logits fewer for each level above `ability`.

    Problems of a level differ by `noise` logits. It learns `pace` levels from a batch in which
    every group is informative.
    """

    slope: float
    ability: float = 2.0
    noise: float = 0.5
    pace: float = 0.03

    def answer(self, problems: Sequence[Problem], size: int, rng: np.random.Generator):
        levels = np.array([problem.level for problem in problems])
        logits = self.slope * (self.ability - levels) + self.noise * rng.normal(size=levels.size)
        rights = rng.binomial(size, 1 / (1 + np.exp(-logits)))
        return [
            Group(problem, [ROLLOUT] * size, [RIGHT] * right + [WRONG] * (size - right))
            for problem, right in zip(problems, rights.tolist(), strict=True)
        ]

    def learned(self, groups: Sequence[Group]) -> Learner:
        informative = sum(0 < group.right < len(group.verdicts) for group in groups)
        return replace(self, ability=self.ability + self.pace * informative / len(groups))


@dataclass
class Trace:
    rates: list[float] = field(default_factory=list)
    difficulties: list[float] = field(default_factory=list)
    informative: list[float] = field(default_factory=list)


def follow(
    curriculum: Curriculum,
    learner: Learner,
    steps: int,
    seed: int,
    groups: int = 32,
    size: int = 8,
    collapse_at: int | None = None,
) -> Trace:
    """Train a simulated learner; at `collapse_at` it falls back by three levels at once."""
    rng = np.random.default_rng(seed)
    trace = Trace()
    for step in range(steps):
        if step == collapse_at:
            learner = replace(learner, ability=learner.ability - 3)
        batch = learner.answer(curriculum.propose(groups, rng), size, rng)
        curriculum, learner = curriculum.observe(batch), learner.learned(batch)
        rights = np.array([each.right / size for each in batch])
        trace.rates.append(float(rights.mean()))
        trace.informative.append(float(np.mean((rights > 0) & (rights < 1))))
        trace.difficulties.append(curriculum.metrics().get("difficulty", math.nan))
    return trace
