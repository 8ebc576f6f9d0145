"""What a task is: it makes problems by level, knows their answers, and names its verifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from evenodds.domain import Problem
from evenodds.errors import UsageError, unknown
from evenodds.verifiers import Verifier

STYLES = ("bare", "few_shot", "chat")
MAX_SHOTS = 16
MAX_HELD_OUT = 10_000


class Task(Protocol):
    """The face that every task shows.

    name: the task's name, the first part of every problem key.
    levels: one label a level, from the easiest to the hardest, such as `2×1 digits`.
    verifier, verifier_name: what judges an answer, and what to call it in a record.
    stop_strings: where a completion of this task's prompts ends.
    """

    @property
    def name(self) -> str: ...
    @property
    def levels(self) -> tuple[str, ...]: ...
    @property
    def verifier(self) -> Verifier: ...
    @property
    def verifier_name(self) -> str: ...
    @property
    def stop_strings(self) -> tuple[str, ...]: ...

    def generate(self, level: int, rng: np.random.Generator) -> Problem:
        """A problem for training, never a held-out one. The same rng state, the same problem."""
        ...

    def held_out(self, level: int) -> tuple[Problem, ...]:
        """The problems of a level that are kept for evaluation, in a fixed order."""
        ...

    def solve(self, problem: Problem) -> str:
        """The gold answer, in a form that the verifier reads."""
        ...

    def passport(self) -> dict[str, object]:
        """Where the problems come from, their licence, the split rule, and counts by level."""
        ...


@dataclass(frozen=True)
class TaskOptions:
    """How a task is made.

    style: how a problem is put to the model: `bare`, `few_shot` or `chat`.
    shots: worked examples in a `few_shot` prompt.
    held_out: problems kept for evaluation, at most, for every level; 10,000 at most.
    seed: the seed of the split and of the examples; not the seed of a run.
    data: a file of prompts and answers (JSONL, also zipped, a JSON list, or parquet), or
    `hf:owner/name` on the hub, for `data` and for the presets that read it.
    held_out_data, held_out_split: another file or split, whose problems are the held-out side.
    subset, data_split: of a data set of the hub.
    verifier: the name of the verifier, where the task's own is not wanted.
    policy: entries of the verifier's policy table in place of its defaults.
    prompt_column, answer_column, level_column: names in the data file, where they are not found
    by themselves.
    columns: other columns of the data that problems carry; all where it is None.
    drop_contradictory, drop_unreadable: leave out prompts with several answers, and golds that the
    verifier cannot read, instead of refusing the data.
    held_out_share: the share of a data file that is held out, before `held_out` caps it.
    """

    style: str = "bare"
    shots: int = 4
    held_out: int = 100
    seed: int = 0
    data: str | None = None
    verifier: str | None = None
    policy: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    prompt_column: str | None = None
    answer_column: str | None = None
    level_column: str | None = None
    held_out_share: float = 0.1
    held_out_data: str | None = None
    subset: str | None = None
    data_split: str = "train"
    held_out_split: str | None = None
    columns: tuple[str, ...] | None = None
    drop_contradictory: bool = False
    drop_unreadable: bool = False

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise unknown("prompt style", self.style, STYLES)
        if not 0 <= self.shots <= MAX_SHOTS:
            raise UsageError(f"shots is out of range. Got {self.shots}. Use 0 to {MAX_SHOTS}.")
        if not 1 <= self.held_out <= MAX_HELD_OUT:
            raise UsageError(
                f"held_out is out of range. Got {self.held_out}. Use 1 to {MAX_HELD_OUT}."
            )
        if not 0 < self.held_out_share < 1:
            raise UsageError(
                f"held_out_share is out of range. Got {self.held_out_share}. "
                "Use more than 0 and less than 1."
            )
