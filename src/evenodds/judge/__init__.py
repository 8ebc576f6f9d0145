"""Judges: one verdict for every rollout, in order. A failure is a verdict, never an exception.

Cheap verifiers run in this process; all others in worker processes that can be killed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenodds.judge.inline import EarlyJudge as EarlyJudge
    from evenodds.judge.inline import InlineJudge as InlineJudge
    from evenodds.judge.inline import Judge as Judge
    from evenodds.judge.inline import Judging as Judging
    from evenodds.judge.inline import OpenJudge as OpenJudge
    from evenodds.judge.inline import ScriptedJudge as ScriptedJudge
    from evenodds.judge.inline import begin as begin
    from evenodds.judge.opening import judge_rows as judge_rows
    from evenodds.judge.opening import open_judge as open_judge
    from evenodds.judge.opening import require_available as require_available
    from evenodds.judge.opening import rows_by as rows_by
    from evenodds.judge.options import JudgeOptions as JudgeOptions
    from evenodds.judge.workers import WorkerJudge as WorkerJudge

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

PLACES = {
    "EarlyJudge": "inline",
    "InlineJudge": "inline",
    "Judge": "inline",
    "JudgeOptions": "options",
    "Judging": "inline",
    "OpenJudge": "inline",
    "ScriptedJudge": "inline",
    "WorkerJudge": "workers",
    "begin": "inline",
    "judge_rows": "opening",
    "open_judge": "opening",
    "require_available": "opening",
    "rows_by": "opening",
}


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: judges bring all verifiers, an audit's counts need none."""
    if name in PLACES:
        return getattr(import_module(f"evenodds.judge.{PLACES[name]}"), name)
    raise AttributeError(f"module 'evenodds.judge' has no attribute {name!r}")
