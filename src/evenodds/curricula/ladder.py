"""The controller that holds even odds: a continuous difficulty, moved by the solve rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from evenodds.curricula.allocation import allocate, draw
from evenodds.curricula.posterior import HALF_LIFE, Record, Shares, judged_shares, mean_share
from evenodds.curricula.protocol import ProblemSource, Saved
from evenodds.curricula.settings import require_number
from evenodds.domain import Group, Problem


@dataclass(frozen=True)
class Ladder:
    """Two-sided proportional control: d <- clip(d + gain * tanh(sharpness * (s - target))).

    The rule is proportional, so a learner that gains v levels a batch is held a little above the
    target: by atanh(v / gain) / sharpness, .03 for v = .03. A larger gain makes that less and the
    solve rate noisier.

    difficulty: d in levels, from 0 to levels - 1; its two neighbouring levels are mixed by its
        fractional part.
    target: the solve rate to hold. gain: the largest step, in levels a batch. sharpness: how soon
        the step saturates as the solve rate s leaves the target.
    review: share of problems drawn evenly from the levels below floor(d), against forgetting;
        their groups do not steer, nor are they in the `solve_rate` of `metrics`.
    half_life: how many groups of a level halve the weight of what was known of it.
    """

    kind: ClassVar[str] = "ladder"
    setting_names: ClassVar[tuple[str, ...]] = (
        "difficulty",
        "target",
        "gain",
        "sharpness",
        "review",
        "half_life",
    )

    task: ProblemSource = field(repr=False)
    difficulty: float = 0.0
    target: float = 0.5
    gain: float = 0.5
    sharpness: float = 2.0
    review: float = 0.0
    half_life: float = HALF_LIFE
    record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        top = len(self.task.levels) - 1
        require_number(self.kind, "difficulty", self.difficulty, 0, top)
        require_number(self.kind, "target", self.target, 0, 1, inclusive=False)
        require_number(self.kind, "gain", self.gain, 0, math.inf, inclusive=False)
        require_number(self.kind, "sharpness", self.sharpness, 0, math.inf, inclusive=False)
        require_number(self.kind, "review", self.review, 0, 0.9)
        require_number(self.kind, "half_life", self.half_life, 0, math.inf, inclusive=False)

    @property
    def floor(self) -> int:
        """The lower of the two levels that are mixed; the levels below it are review."""
        return math.floor(self.difficulty)

    @property
    def weights(self) -> list[float]:
        """[levels] the share of problems that each level gets; they sum to 1."""
        fraction = self.difficulty - self.floor
        review = self.review if self.floor > 0 else 0.0
        weights = [review / self.floor if level < self.floor else 0.0 for level in self._levels]
        weights[self.floor] += (1 - review) * (1 - fraction)
        if fraction > 0:
            weights[self.floor + 1] += (1 - review) * fraction
        return weights

    @property
    def _levels(self) -> range:
        return range(len(self.task.levels))

    def propose(self, n: int, rng: np.random.Generator) -> list[Problem]:
        return draw(self.task, allocate(self.weights, n, rng), rng)

    def observe(self, groups: Sequence[Group]) -> Self:
        shares = judged_shares(groups)
        rate = mean_share(self._steering(shares))
        record = self.record.observe(shares, self.half_life)
        if rate is None:
            return replace(self, record=replace(record, solve_rate=self.record.solve_rate))
        record = replace(record, solve_rate=rate)
        return replace(self, difficulty=self._moved(rate), record=record)

    def _steering(self, shares: Shares) -> Shares:
        """The groups whose solve rate is held at the target: all, or all but review.

        With review in it, the frontier would be pushed up until it is solved less than the target
        to make up for review; in simulation no group more was informative for that.
        """
        if self.review == 0:
            return shares
        return [(level, share) for level, share in shares if level >= self.floor]

    def _moved(self, rate: float) -> float:
        step = self.gain * math.tanh(self.sharpness * (rate - self.target))
        return min(max(self.difficulty + step, 0.0), float(len(self.task.levels) - 1))

    def metrics(self) -> dict[str, float]:
        difficulty = {"difficulty": float(self.difficulty)}
        return difficulty | self.record.metrics(self.task.levels)

    def to_dict(self) -> Saved:
        settings = {name: getattr(self, name) for name in self.setting_names}
        return {
            "kind": self.kind,
            "task_levels": list(self.task.levels),
            **settings,
            **self.record.to_dict(self.task.levels),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], task: ProblemSource) -> Self:
        settings = {name: saved[name] for name in cls.setting_names}
        return cls(task, **settings, record=Record.from_dict(saved, task.levels))
