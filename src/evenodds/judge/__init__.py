"""Judges: one verdict for every rollout, in order. A failure is a verdict, never an exception.

Cheap verifiers run in this process; all others in worker processes that can be killed.
"""

from __future__ import annotations

from evenodds.judge.inline import (
    EarlyJudge,
    InlineJudge,
    Judge,
    Judging,
    OpenJudge,
    ScriptedJudge,
    begin,
)
from evenodds.judge.opening import judge_rows, open_judge, require_available, rows_by
from evenodds.judge.options import JudgeOptions
from evenodds.judge.workers import WorkerJudge

__all__ = [
    "EarlyJudge",
    "InlineJudge",
    "Judge",
    "JudgeOptions",
    "Judging",
    "OpenJudge",
    "ScriptedJudge",
    "WorkerJudge",
    "begin",
    "judge_rows",
    "open_judge",
    "require_available",
    "rows_by",
]
