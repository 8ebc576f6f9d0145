"""One or several named levels, in equal shares, for the whole run."""

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
from evenodds.errors import UsageError, unknown


@dataclass(frozen=True)
class Fixed:
    """Only these levels, in equal shares to within one problem a batch.

    levels: labels of the task; a single label may stand alone, and a repeated one counts once.
    half_life: how many groups of a level halve the weight of what was known of it.

    Raises UsageError for no level, or for one that the task does not have.
    """

    kind: ClassVar[str] = "fixed"
    setting_names: ClassVar[tuple[str, ...]] = ("levels", "half_life")

    task: ProblemSource = field(repr=False)
    levels: Sequence[str] = ()
    half_life: float = HALF_LIFE
    record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        require_number(self.kind, "half_life", self.half_life, 0, math.inf, inclusive=False)
        object.__setattr__(self, "levels", _labels(self.levels, self.task.levels))

    @property
    def weights(self) -> list[float]:
        """[levels of the task] the share of problems that each level gets."""
        share = 1 / len(self.levels)
        return [share if label in self.levels else 0.0 for label in self.task.levels]

    def propose(self, n: int, rng: np.random.Generator) -> list[Problem]:
        return draw(self.task, allocate(self.weights, n, rng), rng)

    def observe(self, groups: Sequence[Group]) -> Self:
        return replace(self, record=self.record.observe(judged_shares(groups), self.half_life))

    def metrics(self) -> dict[str, float]:
        difficulty = sum(level * share for level, share in enumerate(self.weights))
        return {"difficulty": difficulty} | self.record.metrics(self.task.levels)

    def to_dict(self) -> Saved:
        return {
            "kind": self.kind,
            "task_levels": list(self.task.levels),
            "levels": list(self.levels),
            "half_life": self.half_life,
            **self.record.to_dict(self.task.levels),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], task: ProblemSource) -> Self:
        record = Record.from_dict(saved, task.levels)
        return cls(task, saved["levels"], saved["half_life"], record)


def _labels(asked: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(asked, str | list | tuple):
        raise UsageError(f"levels must be level labels. Got {asked!r}. Give a list of strings.")
    labels = (asked,) if isinstance(asked, str) else tuple(dict.fromkeys(asked))
    if not labels:
        raise UsageError(
            f"fixed needs at least one level. Got none. Choose from: {', '.join(known)}."
        )
    for label in labels:
        if label not in known:
            raise unknown("level", str(label), known)
    return labels
