"""Curricula: which problems come next. Frozen values that propose, observe and can be saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenodds.curricula.fixed import Fixed
from evenodds.curricula.ladder import Ladder
from evenodds.curricula.posterior import Posterior, Record
from evenodds.curricula.protocol import Curriculum, ProblemSource, Saved
from evenodds.curricula.uniform import Uniform
from evenodds.errors import UsageError, unknown

__all__ = [
    "CURRICULA",
    "Curriculum",
    "Fixed",
    "Ladder",
    "Posterior",
    "ProblemSource",
    "Record",
    "Saved",
    "Uniform",
    "load_curriculum",
    "make_curriculum",
]

CURRICULA: dict[str, type[Ladder] | type[Uniform] | type[Fixed]] = {
    Ladder.kind: Ladder,
    Uniform.kind: Uniform,
    Fixed.kind: Fixed,
}


def make_curriculum(kind: str, task: ProblemSource, **settings: Any) -> Curriculum:
    """A curriculum by name, at its start. Raises UsageError for a name, key or value it lacks."""
    if kind not in CURRICULA:
        raise unknown("curriculum", kind, CURRICULA)
    maker = CURRICULA[kind]
    for name in settings:
        if name not in maker.setting_names:
            raise unknown(f"setting of the {kind} curriculum", name, maker.setting_names)
    return maker(task, **settings)


def load_curriculum(saved: Mapping[str, Any], task: ProblemSource) -> Curriculum:
    """The curriculum that `to_dict` saved, for the same task. Raises UsageError if it is not."""
    kind = str(saved.get("kind"))
    if kind not in CURRICULA:
        raise unknown("curriculum", kind, CURRICULA)
    if list(saved.get("task_levels", ())) != list(task.levels):
        raise UsageError(
            f"the saved curriculum belongs to other levels. Got {saved.get('task_levels')}, while "
            f"the task has {list(task.levels)}. Use the task of that run, or start a new one."
        )
    try:
        return CURRICULA[kind].from_dict(saved, task)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"the saved {kind} curriculum cannot be read. Got {error!r}. Start a new run."
        ) from error
