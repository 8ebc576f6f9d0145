"""Runs that are nothing but their two evaluations, made from solve rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenodds.report.record import RunRecord

Record = dict[str, Any]
TRIES = 8


def evaluation(counts: Sequence[Sequence[int]], tries: int = TRIES, **more: Any) -> Record:
    """Right answers of each problem, a list a level."""
    levels = [
        {
            "level": number,
            "label": f"L{number}",
            "problems": [
                {"key": f"{number}-{at}", "tries": tries, "right": int(right), "truncated": 0}
                | {"no_answer": 0, "mean_length": 5.0}
                for at, right in enumerate(rights)
            ],
        }
        for number, rights in enumerate(counts)
    ]
    settings = {"samples": tries, "temperature": 1.0, "max_tokens": 96}
    return {"levels": levels, "settings": settings, **more}


def drawn(rates: Sequence[Sequence[float]], seed: int, tries: int = TRIES) -> Record:
    """Right answers drawn from the rates of the problems, a list a level."""
    rng = np.random.default_rng(seed)
    return evaluation([rng.binomial(tries, np.array(level)).tolist() for level in rates], tries)


def run_of(
    base: Record | None,
    final: Record | None,
    config: Mapping[str, Mapping[str, Any]] | None = None,
    metrics: list[dict[str, Any]] | None = None,
) -> RunRecord:
    return RunRecord(Path("nowhere"), config or {}, PASSPORTS, metrics or [], base, final)


PASSPORTS: dict[str, dict[str, Any]] = {
    name: {} for name in ("data", "checker", "objective", "environment")
}


def audit(record: Record, right: Sequence[Sequence[int]], overpaid: Sequence[Sequence[int]]) -> Any:
    """The record with what an audit found, a list a level; nothing is underpaid."""
    for level, rights, overs in zip(record["levels"], right, overpaid, strict=True):
        for row, good, over in zip(level["problems"], rights, overs, strict=True):
            row |= {"audit_tries": row["tries"], "audit_right": good, "disagree": over}
            row |= {"overpaid": over}
    return record
