"""A rollout's part of the loss, worked out from the record alone: no model is asked.

Rewards give advantages, the real reduction gives each token its weight, the real objective its
value, and the sum over all answers of the step is held against the loss in metrics.jsonl.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from evenodds.records import Answer, RecordedGroup, tokens_of

if TYPE_CHECKING:
    from torch import Tensor

    from evenodds.batch import Answer as Collated
    from evenodds.objectives import Objective

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """What one answer adds to the loss of its step; loss = -sum(weights · values).

    weights, values, gradients [tokens]: the reduction's weight, what the objective holds a token
    worth, and d loss / d log pi. clipped: tokens whose gradient the objective cut.
    """

    advantage: float
    weights: Floats
    values: Floats
    gradients: Floats
    clipped: int

    @property
    def loss(self) -> float:
        return -float((self.weights * self.values).sum())


@dataclass(frozen=True)
class Share:
    """A rollout's part of the loss of its step, which is that of the last optimizer pass.

    rewards: of its group, those that count, penalties included. recorded_advantage: as the file
    has it. part: None where the answer is not in the loss, and why says why. loss: of the step as
    worked out here; recorded_loss: as metrics.jsonl has it. pull: the answer's part of all
    absolute gradients of the step. without: what the record does not hold; empty where it is all.
    """

    rewards: tuple[float, ...]
    recorded_advantage: float
    part: Part | None
    why: str
    answers: int
    tokens: int
    loss: float | None
    recorded_loss: float | None
    pull: float = 0.0
    without: str = ""


@dataclass(frozen=True)
class StepLoss:
    """The loss of a step by its answers, which are numbered from 0 across all groups."""

    parts: Mapping[int, Part]
    answers: int
    tokens: int
    without: str

    @property
    def loss(self) -> float | None:
        return sum(part.loss for part in self.parts.values()) if self.parts else None


def step_loss(groups: Sequence[RecordedGroup], objective: Objective, passes: int) -> StepLoss:
    """What each recorded answer adds to the loss, where the policy stood in the last pass."""
    from evenodds.batch import collate

    batch = collate([group.group for group in groups], objective)
    recorded = [answer for group in groups for answer in group.answers]
    rows = [(answer, recorded[answer.index]) for answer in batch.answers]
    extent = batch.extent
    without = _missing(rows, objective, passes)
    if without.startswith("the learner"):
        return StepLoss({}, extent.rollouts, extent.tokens, without)
    if without:
        objective = replace(objective, entropy=0.0)
    parts = _parts(rows, objective, extent, passes) if rows else {}
    return StepLoss(parts, extent.rollouts, extent.tokens, without)


def _missing(rows: Sequence[tuple[Collated, Answer]], objective: Objective, passes: int) -> str:
    """What the loss would need and the record does not have."""
    if any(_stood(answer, passes) is None for _, answer in rows):
        return "the learner's log-probabilities of the last pass"
    unknown = passes > 1 or any(answer.entropy is None for _, answer in rows)
    return (
        "the entropy of the last pass, which is paid for" if objective.entropy and unknown else ""
    )


def _stood(answer: Answer, passes: int) -> NDArray[np.float32] | None:
    return answer.last if passes > 1 else answer.learned


def _parts(
    rows: Sequence[tuple[Collated, Answer]], objective: Objective, extent: Any, passes: int
) -> dict[int, Part]:
    import torch

    now = [cast("NDArray[np.float32]", _stood(answer, passes)) for _, answer in rows]
    tokens = tokens_of(rows, now, [answer.learned for _, answer in rows])
    log_ratio = objective.log_ratio(tokens)
    values = objective.value(log_ratio, tokens)
    weights = objective.reduce(tokens, extent)
    scored = objective.score(tokens, extent)
    (slope,) = torch.autograd.grad(scored.loss, tokens.logprobs, allow_unused=True)
    known = cast("Tensor | None", slope)  # torch says that it is always there
    gradients = torch.zeros_like(values) if known is None else known
    ends = tokens.lengths.cumsum(0)[:-1].numpy()
    columns = [
        np.split(column.detach().numpy(), ends)
        for column in (weights, values, gradients, scored.clipped)
    ]
    return {
        collated.index: Part(collated.advantage, *arrays[:3], clipped=int(arrays[3].sum()))
        for (collated, _), arrays in zip(rows, zip(*columns, strict=True), strict=True)
    }


def share_of(
    groups: Sequence[RecordedGroup], place: tuple[int, int], step: StepLoss, row: Mapping[str, Any]
) -> Share:
    """The part of one answer. place: its group and its number in it. row: of metrics.jsonl."""
    group = next(group for group in groups if group.number == place[0])
    answer = group.answers[place[1]]
    before = sum(len(other.answers) for other in groups if other.number < place[0])
    part = step.parts.get(before + place[1])
    everything = sum(float(np.abs(one.gradients).sum()) for one in step.parts.values())
    mine = float(np.abs(part.gradients).sum()) if part is not None else 0.0
    return Share(
        rewards=tuple(map(float, group.group.rewards)),
        recorded_advantage=answer.advantage,
        part=part,
        why=answer.why,
        answers=step.answers,
        tokens=step.tokens,
        loss=step.loss,
        recorded_loss=row.get("loss"),
        pull=mine / everything if everything else 0.0,
        without=step.without,
    )
