"""A policy on held-out problems: fresh generation, counted by problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    judged_by_key,
    label_of,
    levels_of,
    names_of,
    pooled,
    tally_of,
)

if TYPE_CHECKING:
    from evenodds.evaluation.measure import Control as Control
    from evenodds.evaluation.measure import answer_all as answer_all
    from evenodds.evaluation.measure import evaluate as evaluate

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
    "judged_by_key",
    "label_of",
    "levels_of",
    "names_of",
    "pooled",
    "side_of",
    "summary_of",
    "tally_of",
]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: measuring brings judges and verifiers, a record needs none."""
    if name in ("Control", "answer_all", "evaluate"):
        from evenodds.evaluation import measure

        return getattr(measure, name)
    raise AttributeError(f"module 'evenodds.evaluation' has no attribute {name!r}")
