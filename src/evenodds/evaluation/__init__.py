"""A policy on held-out problems: fresh generation, counted by problem."""

from __future__ import annotations

from evenodds.evaluation.measure import answer_all, evaluate
from evenodds.evaluation.record import Evaluation, EvaluationSettings, LevelResult, ProblemResult
from evenodds.evaluation.summary import (
    Measured,
    Record,
    Side,
    Summary,
    Tally,
    Values,
    doubling,
    finite,
    label_of,
    levels_of,
    pooled,
    side_of,
    summary_of,
    tally_of,
)

__all__ = [
    "Evaluation",
    "EvaluationSettings",
    "LevelResult",
    "Measured",
    "ProblemResult",
    "Record",
    "Side",
    "Summary",
    "Tally",
    "Values",
    "answer_all",
    "doubling",
    "evaluate",
    "finite",
    "label_of",
    "levels_of",
    "pooled",
    "side_of",
    "summary_of",
    "tally_of",
]
