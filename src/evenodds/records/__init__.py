"""What a run writes down of its rollouts, and how it is read back.

`columns` names what a rollout file has; `table` writes it, `answers` the same for an evaluation.
`reader` gives rows, `values` the values that they were, `tokens` what an objective scores. `groups`
is groups.jsonl, `lines` reads any JSON lines, `follow` does while they grow. `holder`: who holds
the folder.
"""

from __future__ import annotations

from evenodds.records.answers import answer_table
from evenodds.records.columns import ARRAYS, COLUMNS
from evenodds.records.groups import Line, group_line, rebuilt, rebuilt_line
from evenodds.records.reader import StepTable, read_known, read_rows, read_table, rollout_files
from evenodds.records.table import as_parquet, rollout_table
from evenodds.records.tokens import tokens_of
from evenodds.records.values import Answer, RecordedGroup, read_groups

__all__ = [
    "ARRAYS",
    "COLUMNS",
    "Answer",
    "Line",
    "RecordedGroup",
    "StepTable",
    "answer_table",
    "as_parquet",
    "group_line",
    "read_groups",
    "read_known",
    "read_rows",
    "read_table",
    "rebuilt",
    "rebuilt_line",
    "rollout_files",
    "rollout_table",
    "tokens_of",
]
