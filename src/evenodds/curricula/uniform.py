"""Every level equally often: the control of an experiment, and the way to measure a ladder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from evenodds.curricula.allocation import allocate, draw
from evenodds.curricula.posterior import HALF_LIFE, Record, judged_shares
from evenodds.curricula.protocol import ProblemSource, Saved
from evenodds.curricula.settings import require_number
from evenodds.domain import Group, Problem


@dataclass(frozen=True)
class Uniform:
    """All levels of the task in equal shares, to within one problem a batch.

    half_life: how many groups of a level halve the weight of what was known of it.
    """

    kind: ClassVar[str] = "uniform"
    setting_names: ClassVar[tuple[str, ...]] = ("half_life",)

    task: ProblemSource = field(repr=False)
    half_life: float = HALF_LIFE
    record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        require_number(self.kind, "half_life", self.half_life, 0, math.inf, inclusive=False)

    @property
    def weights(self) -> list[float]:
        """[levels] the share of problems that each level gets."""
        count = len(self.task.levels)
        return [1 / count] * count

    def propose(self, n: int, rng: np.random.Generator) -> list[Problem]:
        return draw(self.task, allocate(self.weights, n, rng), rng)

    def observe(self, groups: Sequence[Group]) -> Self:
        return replace(self, record=self.record.observe(judged_shares(groups), self.half_life))

    def metrics(self) -> dict[str, float]:
        difficulty = (len(self.task.levels) - 1) / 2
        return {"difficulty": difficulty} | self.record.metrics(self.task.levels)

    def to_dict(self) -> Saved:
        return {
            "kind": self.kind,
            "task_levels": list(self.task.levels),
            "half_life": self.half_life,
            **self.record.to_dict(self.task.levels),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], task: ProblemSource) -> Self:
        return cls(task, saved["half_life"], Record.from_dict(saved, task.levels))
