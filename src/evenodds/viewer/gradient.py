"""How hard a recorded step pushed on each token, under its own objective or any other recipe.

The step's groups are collated again as the recipe would have it, and the real objective is
differentiated: d J / d log pi of each token, at the recorded log-probabilities. torch is imported
when this is first asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenodds.domain import Extent, Group
from evenodds.errors import UsageError
from evenodds.records import Answer, RecordedGroup, tokens_of

if TYPE_CHECKING:
    from evenodds.batch import Answer as Collated
    from evenodds.batch import Batch
    from evenodds.objectives import Objective

Floats = NDArray[np.float64]
Pass = Literal["first", "last"]
Place = tuple[int, int]
"""A group of the step and an answer of it, both counted from 0."""

FIRST: Pass = "first"
MOVING = ("entropy_target", "entropy_step")  # settings of what moves the objective between steps


@dataclass(frozen=True)
class Push:
    """What an objective does with one answer.

    weight [tokens]: d J / d log pi. clipped [tokens]: whether the gradient is cut there (capped,
    where the surrogate caps). ratio [tokens]: what the surrogate was given, of the ratio level.
    """

    advantage: float
    weight: Floats
    clipped: NDArray[np.bool_]
    ratio: Floats


@dataclass(frozen=True)
class Pushes:
    """What an objective does with a step. An answer that is not in `by_place` is not in the loss.

    assumed: answers whose learner log-probabilities were not recorded, because the run itself
    left them out; the sampler's stand for them, as if the ratio were 1.
    without: a part of the objective that the record cannot tell; empty where it tells all.
    axes: the objective in words.
    """

    by_place: Mapping[Place, Push]
    extent: Extent
    assumed: frozenset[Place]
    without: str = ""
    axes: str = ""


def own_objective(
    settings: Mapping[str, Any], low: float | None = None, high: float | None = None
) -> Objective:
    """The objective of a run's [objective] table, with other clip bounds where they are given.

    Raises `UsageError` where it has code of a person's own: what a folder names is not run here.
    """
    from evenodds.objectives import make_objective

    known: dict[str, Any] = {n: value for n, value in settings.items() if n not in MOVING}
    if any(isinstance(value, str) and ":" in value for value in known.values()):
        raise UsageError(
            "this run's objective has a function of its own, and code that a run folder names is "
            "not run here. Choose a recipe by name."
        )
    given = {"clip_low": low, "clip_high": high}
    known |= {name: value for name, value in given.items() if value is not None}
    try:
        return make_objective(**known)
    except (TypeError, ValueError, AttributeError):
        raise UsageError(
            "the [objective] of this run's config.toml cannot be read. Choose a recipe by name."
        ) from None


def recipe_objective(name: str, low: float | None, high: float | None) -> Objective:
    """A named recipe, with other clip bounds where they are given. Raises `UsageError`."""
    from evenodds.errors import unknown
    from evenodds.objectives import RECIPES, make_objective

    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES)
    return make_objective(name, clip_low=low, clip_high=high)


def pushes(
    groups: Sequence[RecordedGroup], own: Objective | None, objective: Objective, turn: Pass
) -> Pushes:
    """What `objective` does with the recorded groups of a whole step.

    own: what the run was trained with, whose penalties are taken out of the rewards; None: none.
    turn: whether the policy stood where it did in the first or in the last optimizer pass.
    """
    from evenodds.batch import collate
    from evenodds.objectives import shaped
    from evenodds.objectives.describe import axes_of

    usable, without = _measurable(groups, objective)
    plain = [_as_judged(group.group, own) for group in groups]
    batch = collate([shaped(group, usable) for group in plain], usable)
    places = [(g.number, a) for g in groups for a in range(len(g.answers))]
    answers = [answer for group in groups for answer in group.answers]
    rows = [(collated, answers[collated.index]) for collated in batch.answers]
    assumed = {places[c.index] for c, recorded in rows if recorded.learned is None}
    found = _differentiated(batch, rows, usable, turn)
    by_place = {places[row[0].index]: push for row, push in zip(rows, found, strict=True)}
    return Pushes(by_place, batch.extent, frozenset(assumed), without, axes_of(objective))


def _measurable(groups: Sequence[RecordedGroup], objective: Objective) -> tuple[Objective, str]:
    """The objective without what the record cannot tell, and in words what that is.

    The gradient of an entropy reaches every token of the vocabulary, of which a record has one.
    """
    known = all(
        answer.rollout.reference_logprobs is not None for g in groups for answer in g.answers
    )
    missing: list[str] = []
    if objective.entropy:
        missing.append("the entropy bonus")
        objective = replace(objective, entropy=0.0)
    if not known and (objective.kl_loss is not None or objective.kl_reward):
        missing.append("the KL, for no reference was recorded")
        objective = replace(objective, kl_loss=None, kl_reward=0.0)
    return objective, " and ".join(missing)


def _as_judged(group: Group, own: Objective | None) -> Group:
    """The group with the rewards of its verifier alone."""
    from evenodds.objectives import unshaped

    if own is None:
        return group
    return replace(group, verdicts=[unshaped(verdict, own) for verdict in group.verdicts])


def _differentiated(
    batch: Batch, rows: Sequence[tuple[Collated, Answer]], objective: Objective, turn: Pass
) -> list[Push]:
    import torch

    if not rows:
        return []
    now, first = ([stood(answer, name) for _, answer in rows] for name in (turn, FIRST))
    tokens = tokens_of(rows, now, first)
    with torch.enable_grad():
        scored = objective.score(tokens, batch.extent)
        (slope,) = torch.autograd.grad(scored.loss, tokens.logprobs)
    weight = -slope
    ends = tokens.lengths.cumsum(0)[:-1]
    columns = (weight, scored.clipped, scored.log_ratio.exp())
    split = [np.split(column.detach().numpy(), ends.numpy()) for column in columns]
    return [
        Push(collated.advantage, *arrays)
        for (collated, _), arrays in zip(rows, zip(*split, strict=True), strict=True)
    ]


def stood(answer: Answer, turn: Pass) -> NDArray[np.float32]:
    """The learner's log-probabilities in a pass; the sampler's where none were recorded."""
    size = answer.rollout.ids.size
    recorded = (answer.last if turn == "last" else None, answer.learned)
    fitting = [values for values in recorded if values is not None and values.size == size]
    return fitting[0] if fitting else answer.rollout.logprobs
