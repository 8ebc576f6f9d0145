"""An objective: credit × ratio level × surrogate × reduction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from evenodds.credit import Credit, centered
from evenodds.domain import Extent
from evenodds.objectives import ratio as ratios
from evenodds.objectives import reduce as reductions
from evenodds.objectives.surrogate import Clip, Reinforce


class Scored(NamedTuple):
    """The loss of a micro-batch with what is worth knowing beside it."""

    loss: Float[Tensor, ""]
    log_ratio: Float[Tensor, " n"]
    clipped: Bool[Tensor, " n"]


@dataclass(frozen=True)
class Objective:
    """What the learner minimises: the negative of J in `docs/objectives.md`.

    credit: rewards of a group -> advantages.
    ratio: how far the policy moved, by token.
    surrogate: what is maximised on a token.
    reduce: the weight of a token in the sum.
    mask_truncated: answers cut by the budget keep their score in the group's mean, but their
        tokens leave the loss and its denominators.
    """

    credit: Credit = centered
    ratio: ratios.Ratio = ratios.token
    surrogate: Clip | Reinforce = field(default_factory=Clip)
    reduce: reductions.Reduce = reductions.per_budget
    mask_truncated: bool = True

    def score(self, tokens: ratios.Tokens, extent: Extent) -> Scored:
        """The loss of these tokens: their part of the sum over the whole optimizer step."""
        log_ratio = self.ratio(tokens)
        value = self.surrogate(log_ratio, tokens.advantages)
        loss = -(self.reduce(tokens, extent) * value).sum()
        clipped = self.surrogate.active(log_ratio.detach(), tokens.advantages)
        return Scored(loss, log_ratio.detach(), clipped)
