"""Judges: one verdict for every rollout, in order. A failure is a verdict, never an exception.

Cheap verifiers run in this process; all others in worker processes that can be killed.
"""

from __future__ import annotations

from evenodds.judge.inline import InlineJudge, Judge, OpenJudge, ScriptedJudge
from evenodds.judge.opening import judge_rows, open_judge, require_available, rows_by
from evenodds.judge.options import JudgeOptions
from evenodds.judge.workers import WorkerJudge

__all__ = [
    "InlineJudge",
    "Judge",
    "JudgeOptions",
    "OpenJudge",
    "ScriptedJudge",
    "WorkerJudge",
    "judge_rows",
    "open_judge",
    "require_available",
    "rows_by",
]
