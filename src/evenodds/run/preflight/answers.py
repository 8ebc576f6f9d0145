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

COLUMNS = ["of", "kind", "group", "level", "status", "reward", "stop"]
LENGTHS = {"tokens": "completion_ids", "asked": "prompt_ids"}


@dataclass(frozen=True)
class Asked:
    """One problem with the answers that were drawn to it.

    rewards: of those that could be judged, of which `right` are right. lengths: tokens of every
    answer; asked: of the prompt. cut: whether the budget ended it. timeouts: answers of which the
    verifier did not come back.
    """

    level: int
    right: int
    rewards: tuple[float, ...]
    lengths: tuple[int, ...]
    cut: tuple[bool, ...]
    asked: int = 0
    timeouts: int = 0

    @property
    def tries(self) -> int:
        return len(self.rewards)

    @property
    def computed(self) -> int:
        """Tokens that went through the model: the prompt once, and all answers."""
        return self.asked + sum(self.lengths)


@dataclass(frozen=True)
class Sampled:
    """All answers of a probe or of an evaluation.

    budget: tokens that each might have. seconds: that it took to compute `computed` tokens, of
    these and of others, each prompt once for all answers to it. note: why there are fewer than
    wanted; empty where there are not.
    """

    problems: tuple[Asked, ...]
    budget: int
    seconds: float = 0.0
    computed: int = 0
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
    def errors(self) -> int:
        """Answers that could not be judged, for another reason than time."""
        return self.answers - sum(one.tries for one in self.problems) - self.timeouts

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
        """Whether an answer was paid a part: neither 0 nor 1."""
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
        int(group.rollouts[0].prompt_ids.size),
        statuses.count(Status.TIMEOUT),
    )


def asked_in(rows: Sequence[Mapping[str, Any]]) -> Asked:
    """The rows of one problem in the answers of an evaluation."""
    judged = [row for row in rows if row["status"] not in NOT_JUDGED]
    return Asked(
        int(rows[0]["level"]),
        sum(row["status"] == Status.RIGHT for row in judged),
        tuple(float(row["reward"]) for row in judged),
        tuple(row["tokens"] for row in rows),
        tuple(row["stop"] == Stop.BUDGET for row in rows),
        int(rows[0]["asked"]),
        sum(row["status"] == Status.TIMEOUT for row in rows),
    )


def read_answers(path: Path) -> tuple[tuple[Asked, ...], int]:
    """The sampled answers to the task in a table of an evaluation, problem by problem, and the
    tokens that were computed for all answers in it."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(path, columns=[*COLUMNS, *LENGTHS.values()])
    lengths = {name: _lengths(table[ids]) for name, ids in LENGTHS.items()}
    rows = table.select(COLUMNS).to_pylist()
    groups: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for row, tokens, asked in zip(rows, lengths["tokens"], lengths["asked"], strict=True):
        place = (row["of"], row["kind"], row["group"])
        groups.setdefault(place, []).append({**row, "tokens": tokens, "asked": asked})
    problems = {place: asked_in(rows) for place, rows in groups.items()}
    kept = [one for place, one in problems.items() if place[:2] == ("task", "sampled")]
    return tuple(kept), sum(one.computed for one in problems.values())


def _lengths(column: Any) -> list[int]:
    """How many values each list of a column has."""
    return [n for chunk in column.chunks for n in chunk.value_lengths().to_pylist()]


def probed_answers(probe: Probe, budget: int) -> Sampled:
    found = tuple(map(asked_of, (*probe.groups, *probe.batch)))
    computed = sum(one.computed for one in found)
    return Sampled(found, budget, probe.seconds, computed, probe.note)


def base_answers(record: Mapping[str, Any], path: Path) -> Sampled:
    """Of the evaluation of the base. record: of it; path: the table of its answers."""
    problems, computed = read_answers(path)
    budget, seconds = int(record["settings"]["max_tokens"]), float(record["seconds"])
    return Sampled(problems, budget, seconds, computed)
