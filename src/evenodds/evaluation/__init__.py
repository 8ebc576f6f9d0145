"""A policy on held-out problems: fresh generation, counted by problem."""

from __future__ import annotations

from evenodds.evaluation.measure import Control, answer_all, evaluate
from evenodds.evaluation.record import (
    Answered,
    Canaries,
    Evaluation,
    EvaluationSettings,
    LevelResult,
    ProblemResult,
)
from evenodds.evaluation.summary import Measured, Side, Summary, side_of, summary_of
from evenodds.evaluation.tally import (
    Record,
    Tally,
    Values,
    doubling,
    finite,
    label_of,
    levels_of,
    pooled,
    tally_of,
)

__all__ = [
    "Answered",
    "Canaries",
    "Control",
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
