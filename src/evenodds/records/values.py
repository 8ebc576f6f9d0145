"""The rollouts of a step read back as the values that they were: bit for bit, as float32 and int.

What a file cannot hold is not there: the prompt is the text that it was rendered to, and columns
of a person's data are empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import PROMPT_TAIL, Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.records.columns import ARRAYS
from evenodds.records.reader import StepTable, read_table, told

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Answer:
    """One recorded answer. why: it is not in the loss; empty where it is.

    learned, entropy: the learner's log-probabilities [tokens] and entropies before the update;
    last: its log-probabilities in the last of several passes. None where nothing was recorded.
    """

    rollout: Rollout
    verdict: Verdict
    audit: Verdict | None
    advantage: float
    kept: bool
    why: str
    learned: Floats | None
    last: Floats | None
    entropy: Floats | None


@dataclass(frozen=True)
class RecordedGroup:
    """One recorded group. number: its place in the step. round: of sampling; None in old runs."""

    step: int
    number: int
    round: int | None
    prompt: str
    problem: Problem
    answers: tuple[Answer, ...]

    @property
    def group(self) -> Group:
        """The group as the step had it, its rewards with all penalties."""
        rollouts = [answer.rollout for answer in self.answers]
        return Group(self.problem, rollouts, [answer.verdict for answer in self.answers])


def read_groups(path: Path, group: int | None = None) -> list[RecordedGroup]:
    """The groups of a step, or one of them. Raises `RunError` where the file is damaged."""
    table = read_table(path, group=group)
    with told(path):
        return [
            _recorded(number, [row for _, row in rows])
            for number, rows in groupby(_rows(table), key=lambda pair: pair[0])
        ]


def _rows(table: StepTable) -> Iterator[tuple[int, dict[str, Any]]]:
    names = [name for name in table.table.column_names if name not in ARRAYS]
    columns: list[Any] = [table.values(name) for name in names]
    for name in ARRAYS:
        names.append(name)
        columns.append(table.arrays(name, np.int64 if name.endswith("_ids") else np.float32))
    for row in zip(*columns, strict=True):
        found = dict(zip(names, row, strict=True))
        yield found["group"], found


def _recorded(number: int, rows: list[dict[str, Any]]) -> RecordedGroup:
    first = rows[0]
    prompt = str(first["prompt"] or "")
    problem = Problem(
        key=str(first["problem_key"]),
        prompt=prompt,
        answer=str(first["gold"] or ""),
        task="",
        level=int(first["level"] or 0),
    )
    answers = tuple(_answer(row, prompt) for row in rows)
    return RecordedGroup(int(first["step"]), number, first["round"], prompt, problem, answers)


def _answer(row: dict[str, Any], prompt: str) -> Answer:
    return Answer(
        rollout=_rollout(row, prompt),
        verdict=Verdict(
            float(row["reward"]),
            Status(row["status"]),
            row["extracted"],
            row["note"] or "",
            row["parts"],
        ),
        audit=_audit(row),
        advantage=float(row["advantage"]),
        kept=bool(row["kept"]),
        why=row["why"] or "",
        learned=row["learner_logprobs"],
        last=row["last_logprobs"],
        entropy=row["entropy"],
    )


def _audit(row: dict[str, Any]) -> Verdict | None:
    if row["audit_status"] is None:
        return None
    status = Status(row["audit_status"])
    return Verdict(float(row["audit_score"] or 0.0), status, note=row["audit_note"] or "")


def _rollout(row: dict[str, Any], prompt: str) -> Rollout:
    ids, logprobs = row["completion_ids"], row["logprobs"]
    if ids is None or logprobs is None or ids.size != logprobs.size:
        raise ValueError("an answer has not one log-probability for each token")
    strings = tuple(row["stop_strings"] or ())
    limits = Limits(int(row["max_tokens"]), float(row["temperature"]), strings)
    return Rollout(
        prompt_ids=row["prompt_ids"],
        ids=ids,
        logprobs=logprobs,
        stop=Stop(row["stop"]),
        text=row["completion"] or "",
        version=int(row["policy_version"]),
        seed=int(row["seed"]),
        limits=limits,
        prompt_tail=prompt[-PROMPT_TAIL:],
        reference_logprobs=row["reference_logprobs"],
    )
