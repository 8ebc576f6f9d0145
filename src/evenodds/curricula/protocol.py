"""What a curriculum is, and what it needs of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from evenodds.domain import Group, Problem

Saved = dict[str, Any]  # JSON: plain numbers, strings, lists and dicts


class ProblemSource(Protocol):
    """The part of a task that a curriculum uses: labels of its levels, easiest first, and problems.

    There is at least one level. The same level and state of rng give the same problem.
    """

    @property
    def levels(self) -> tuple[str, ...]: ...

    def generate(self, level: int, rng: np.random.Generator) -> Problem: ...


@runtime_checkable
class Curriculum(Protocol):
    """Which problems come next. A frozen value: observing gives a new one.

    kind: its name in the registry. setting_names: the settings that `make_curriculum` takes.
    """

    kind: ClassVar[str]
    setting_names: ClassVar[tuple[str, ...]]

    @property
    def weights(self) -> Sequence[float]:
        """[levels] the share of the next problems that each level gets; they sum to 1."""
        ...

    def propose(self, n: int, rng: np.random.Generator) -> list[Problem]:
        """n problems in random order, all different wherever their levels have enough."""
        ...

    def observe(self, groups: Sequence[Group]) -> Self:
        """The curriculum after *all* groups of a batch, those without signal too.

        Only judged answers count. A batch without any changes nothing.
        """
        ...

    def metrics(self) -> dict[str, float]:
        """`difficulty` (mean level, 0 is the first), `solve_rate` (last batch, once there is one;
        review apart) and `solve_rate/LABEL` (posterior mean) of each level observed so far.
        """
        ...

    def to_dict(self) -> Saved:
        """All that `from_dict` needs to make an equal value; it goes through JSON unchanged."""
        ...

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], task: ProblemSource) -> Self: ...
