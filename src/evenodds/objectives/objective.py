"""An objective: credit × ratio level × surrogate × reduction, penalties, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from evenodds.credit import Credit, centered
from evenodds.domain import Extent
from evenodds.objectives import ratio as ratios
from evenodds.objectives import reduce as reductions
from evenodds.objectives.correction import Correction
from evenodds.objectives.penalty import KL
from evenodds.objectives.surrogate import Clip, Surrogate, activity

ZeroSignal = Literal["drop", "keep", "refill"]


class Scored(NamedTuple):
    """The loss of a micro-batch with what is worth knowing beside it."""

    loss: Float[Tensor, ""]
    log_ratio: Float[Tensor, " n"]
    clipped: Bool[Tensor, " n"]


@dataclass(frozen=True)
class Objective:
    """What the learner minimises: the negative of J in `docs/objectives.md`.

    credit: rewards of a group -> advantages.
    whiten: advantages are then put to mean 0 and std 1 over all tokens of the batch.
    ratio: how far the policy moved, by token or by answer.
    surrogate: what is maximised on a token.
    reduce: the weight of a token in the sum.
    correction: the weight of a token whose sampler was not the learner's policy.
    kl_loss: taken off each token's value. kl_reward: coefficient of the answer's summed k1, taken
        off its reward. measure_kl: the KL is only reported.
    entropy: what a nat of a token's entropy is paid.
    mask_truncated: answers cut by the budget keep their score in the group's mean, but their
        tokens leave the loss and its denominators.
    overlong: the last share of the token budget, over which a penalty grows to 1.
    zero_signal: groups whose advantages are all 0 leave the loss and its denominators (drop), stay
        in the denominators (keep), or leave and others are drawn in their place (refill).
    """

    credit: Credit = centered
    whiten: bool = False
    ratio: ratios.Ratio = ratios.token
    surrogate: Surrogate = field(default_factory=Clip)
    reduce: reductions.Reduce = reductions.per_budget
    correction: Correction | None = None
    kl_loss: KL | None = None
    kl_reward: float = 0.0
    measure_kl: bool = False
    entropy: float = 0.0
    mask_truncated: bool = True
    overlong: float = 0.0
    zero_signal: ZeroSignal = "drop"

    @property
    def needs_reference(self) -> bool:
        """Whether the policy that training started from must be asked too."""
        return self.measure_kl or self.kl_loss is not None or self.kl_reward != 0

    @property
    def has_penalty(self) -> bool:
        """Whether tokens without any advantage still have a gradient."""
        return self.kl_loss is not None or self.entropy != 0

    def log_ratio(self, tokens: ratios.Tokens) -> Float[Tensor, " n"]:
        """log rho of each token at the ratio level, against what the correction leaves to it."""
        old = tokens.old_logprobs
        if self.correction is not None and tokens.first_logprobs is not None:
            old = tokens.first_logprobs
        return self.ratio(tokens.logprobs - old, tokens)

    def value(self, log_ratio: Float[Tensor, " n"], tokens: ratios.Tokens) -> Float[Tensor, " n"]:
        """What each token is worth, before its weight in the sum."""
        value = self.surrogate(log_ratio, tokens)
        if self.correction is not None:
            value = self.correction(tokens) * value
        if self.kl_loss is not None:
            value = value - self.kl_loss(log_ratio, tokens)
        if self.entropy != 0 and tokens.entropy is not None:
            value = value + self.entropy * tokens.entropy
        return value

    def score(self, tokens: ratios.Tokens, extent: Extent) -> Scored:
        """The loss of these tokens: their part of the sum over the whole optimizer step."""
        log_ratio = self.log_ratio(tokens)
        loss = -(self.reduce(tokens, extent) * self.value(log_ratio, tokens)).sum()
        return Scored(loss, log_ratio.detach(), activity(self.surrogate, log_ratio, tokens))
