"""groups.jsonl: a line a step with what each of its groups was, so that a view need not open 2,000
files to find the ones worth a look. It can be made again from these files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.domain import Status, Stop, Verdict, differ
from evenodds.judge.audit import Audit, disagrees
from evenodds.records.reader import read_table, rollout_files, told
from evenodds.records.table import rounds_of
from evenodds.similarity import near_duplicates

if TYPE_CHECKING:
    from evenodds.step import StepReport

FILE = "groups.jsonl"
COLUMNS = (
    *("key", "level", "size", "judged", "right", "reward", "truncated", "duplicates", "disagree"),
    *("mixed", "tokens", "round"),
)
SEAL = "rollouts"
"""In a line that a run writes: the SHA-256 of the step's file, which was written before it."""

Line = dict[str, Any]
"""`step`, and under each of `COLUMNS` a list with an entry a group, in the order of `group`."""


def group_line(step: int, report: StepReport, audit: Audit | None = None) -> Line:
    """The line of a step. audit: what a second verifier says of each answer, where there is one."""
    rounds = rounds_of(report)
    entries = [
        {
            "key": group.problem.key,
            "level": group.problem.level,
            "round": rounds[at],
            **_counts(
                group.verdicts,
                None if audit is None else audit[at],
                [rollout.text for rollout in group.rollouts],
                [rollout.stop for rollout in group.rollouts],
                sum(rollout.ids.size for rollout in group.rollouts),
            ),
        }
        for at, group in enumerate(report.groups)
    ]
    return _columnar(step, entries)


def _columnar(step: int, entries: Sequence[Mapping[str, Any]]) -> Line:
    return {"step": step, **{name: [entry[name] for entry in entries] for name in COLUMNS}}


def _counts(
    verdicts: Sequence[Verdict],
    audit: Sequence[Verdict] | None,
    texts: Sequence[str],
    stops: Sequence[Stop],
    tokens: int,
) -> dict[str, Any]:
    """What is counted of one group. mixed: its rewards differ, so that it teaches something."""
    scores = np.array([verdict.score for verdict in verdicts if verdict.is_judged])
    return {
        "size": len(verdicts),
        "judged": len(scores),
        "right": sum(verdict.status is Status.RIGHT for verdict in verdicts),
        "reward": float(scores.mean()) if scores.size else None,
        "truncated": sum(stop is Stop.BUDGET for stop in stops),
        "duplicates": near_duplicates(texts),
        "disagree": None if audit is None else sum(map(disagrees, verdicts, audit)),
        "mixed": differ(scores),
        "tokens": tokens,
    }


def parsed(text: str) -> Line | None:
    """One line, or None where it is torn or has not one entry a group under each name."""
    try:
        line: Any = json.loads(text)
        sizes = {len(line[name]) for name in COLUMNS if isinstance(line[name], list)}
        whole = all(isinstance(line[name], list) for name in COLUMNS)
        return line if whole and len(sizes) == 1 and type(line["step"]) is int else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def rebuilt_line(step: int, path: Path) -> Line:
    """The line of a step, counted again from its rollouts. Raises `RunError` of a damaged file."""
    names = ("group", "round", "problem_key", "level", "completion", "completion_ids", "stop")
    told_by = ("reward", "status", "audit_status")
    table = read_table(path, (*names, *told_by))
    with told(path):
        lengths = [0 if ids is None else ids.size for ids in table.arrays(names[5], np.int64)]
        columns = {name: table.values(name) for name in (*names[:5], names[6], *told_by)}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        pairs = groupby(zip(rows, lengths, strict=True), key=lambda pair: pair[0]["group"])
        return _columnar(step, [_rebuilt(list(pair)) for _, pair in pairs])


def _rebuilt(pairs: list[tuple[dict[str, Any], int]]) -> dict[str, Any]:
    rows = [row for row, _ in pairs]
    known = all(row["audit_status"] is not None for row in rows)
    return {
        "key": rows[0]["problem_key"],
        "level": rows[0]["level"],
        "round": rows[0]["round"] or 0,
        **_counts(
            [Verdict(row["reward"], Status(row["status"])) for row in rows],
            [Verdict(0.0, Status(row["audit_status"])) for row in rows] if known else None,
            [row["completion"] or "" for row in rows],
            [Stop(row["stop"]) for row in rows],
            sum(length for _, length in pairs),
        ),
    }


def rebuilt(run: Path) -> Iterator[Line]:
    """The lines of a run, counted again from its rollouts, step after step."""
    for step, path in rollout_files(run).items():
        yield rebuilt_line(step, path)


def length_through(path: Path, step: int) -> int:
    """Bytes of the file up to the last line of this step, as far as its lines are whole."""
    length = 0
    with open(path, "rb") as file:
        for raw in file:
            line = parsed(raw.decode("utf-8", "replace")) if raw.endswith(b"\n") else None
            if line is None or line["step"] > step:
                break
            length += len(raw)
    return length
