"""Judged answers as numbers, alike from a probe and from the evaluation of the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import NOT_JUDGED, Group, Status, Stop
from evenodds.statistics import Estimate, clustered_rate

if TYPE_CHECKING:
    from evenodds.run.preflight.ground import Probe

COLUMNS = ["of", "kind", "group", "level", "status", "reward", "stop", "completion_ids"]


@dataclass(frozen=True)
class Asked:
    """One problem with the answers that were drawn to it.

    rewards: of those that could be judged, of which `right` are right. lengths: tokens of every
    answer. cut: whether the budget ended it; ended: whether a token of its own did. timeouts:
    answers of which the verifier did not come back.
    """

    level: int
    right: int
    rewards: tuple[float, ...]
    lengths: tuple[int, ...]
    cut: tuple[bool, ...]
    ended: tuple[bool, ...]
    timeouts: int = 0

    @property
    def tries(self) -> int:
        return len(self.rewards)


@dataclass(frozen=True)
class Sampled:
    """All answers of a probe or of an evaluation.

    budget: tokens that each might have. seconds: that it took to draw `drawn` tokens, of these and
    of others. source: what they are called. note: why there are fewer than wanted; empty where
    there are not.
    """

    problems: tuple[Asked, ...]
    budget: int
    seconds: float = 0.0
    drawn: int = 0
    source: str = "probe"
    note: str = ""

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([n for one in self.problems for n in one.lengths], dtype=np.int64)

    @cached_property
    def cut(self) -> NDArray[np.bool_]:
        return np.array([flag for one in self.problems for flag in one.cut], dtype=bool)

    @property
    def answers(self) -> int:
        return self.lengths.size

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    @property
    def timeouts(self) -> int:
        return sum(one.timeouts for one in self.problems)

    @property
    def truncated(self) -> Estimate:
        """The share of answers that the budget cut; answers to one problem are alike."""
        return clustered_rate(
            [sum(one.cut) for one in self.problems], [len(one.cut) for one in self.problems]
        )

    def level(self, number: int) -> list[Asked]:
        return [one for one in self.problems if one.level == number]

    @property
    def levels(self) -> list[int]:
        return sorted({one.level for one in self.problems})

    @property
    def partial(self) -> bool:
        """Whether an answer was paid anything but the least or the most of all that were seen."""
        rewards = {round(r, 6) for one in self.problems for r in one.rewards}
        return len(rewards - {0.0, 1.0}) > 0

    def record(self) -> dict[str, Any]:
        """What a curriculum reads of the record of an evaluation."""
        return {
            "levels": [
                {
                    "level": number,
                    "problems": [
                        {"tries": one.tries, "right": one.right} for one in self.level(number)
                    ],
                }
                for number in self.levels
            ]
        }


def asked_of(group: Group) -> Asked:
    statuses = [verdict.status for verdict in group.verdicts]
    return Asked(
        group.problem.level,
        group.right,
        tuple(float(reward) for reward in group.rewards),
        tuple(int(rollout.ids.size) for rollout in group.rollouts),
        tuple(rollout.is_truncated for rollout in group.rollouts),
        tuple(rollout.stop is Stop.END_TOKEN for rollout in group.rollouts),
        statuses.count(Status.TIMEOUT),
    )


def asked_in(rows: Sequence[Mapping[str, Any]]) -> Asked:
    """The rows of one problem in the answers of an evaluation."""
    judged = [row for row in rows if row["status"] not in NOT_JUDGED]
    return Asked(
        int(rows[0]["level"]),
        sum(row["status"] == Status.RIGHT for row in judged),
        tuple(float(row["reward"]) for row in judged),
        tuple(len(row["completion_ids"]) for row in rows),
        tuple(row["stop"] == Stop.BUDGET for row in rows),
        tuple(row["stop"] == Stop.END_TOKEN for row in rows),
        sum(row["status"] == Status.TIMEOUT for row in rows),
    )


def read_answers(path: Path) -> tuple[tuple[Asked, ...], int]:
    """The sampled answers to the task in a table of an evaluation, problem by problem, and the
    tokens of all answers in it."""
    import pyarrow.parquet as parquet

    rows = parquet.read_table(path, columns=COLUMNS).to_pylist()
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if (row["of"], row["kind"]) == ("task", "sampled"):
            groups.setdefault(row["group"], []).append(row)
    return tuple(map(asked_in, groups.values())), sum(len(row["completion_ids"]) for row in rows)


def probed_answers(probe: Probe, budget: int) -> Sampled:
    groups = (*probe.groups, *probe.batch)
    found = tuple(map(asked_of, groups))
    drawn = sum(rollout.ids.size for group in groups for rollout in group.rollouts)
    return Sampled(found, budget, probe.seconds, drawn, "probe", probe.note)


def base_answers(record: Mapping[str, Any], path: Path) -> Sampled:
    """Of the evaluation of the base. record: of it; path: the table of its answers."""
    problems, drawn = read_answers(path)
    budget, seconds = int(record["settings"]["max_tokens"]), float(record["seconds"])
    return Sampled(problems, budget, seconds, drawn, "evaluation of the base")
