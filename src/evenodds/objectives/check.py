"""An axis of a person's own is tried on an example before a run depends on it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from evenodds.domain import Extent
from evenodds.errors import UsageError
from evenodds.objectives.objective import Objective
from evenodds.objectives.ratio import Tokens
from evenodds.own import FAILURES, described, quiet

LENGTHS = (1, 3, 2)


def example() -> tuple[Tokens, Extent]:
    """Three answers of different lengths, one of them right, some way off their old policy."""
    lengths = torch.tensor(LENGTHS)
    n = int(lengths.sum())
    old = -torch.linspace(0.1, 2.0, n)
    logprobs = (old + torch.linspace(-0.5, 0.5, n)).requires_grad_()
    credit = torch.tensor([1.0, -0.5, -0.5])
    rollout = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    tokens = Tokens(
        logprobs, old, credit[rollout], rollout, lengths, old, old, torch.ones_like(old)
    )
    return tokens, Extent(n, len(LENGTHS), 8)


def check_own(objective: Objective) -> None:
    """Raise `UsageError` where a function of a person's own does not give what is needed of it."""
    tokens, extent = example()
    with quiet():
        try:
            _require_rewards(objective)
            log_ratio = _shaped(
                "ratio", objective.ratio(tokens.logprobs - tokens.old_logprobs, tokens)
            )
            _shaped("surrogate", objective.surrogate(log_ratio, tokens))
            _shaped("reduce", objective.reduce(tokens, extent))
            loss = objective.score(tokens, extent).loss
            (gradient,) = torch.autograd.grad(loss, tokens.logprobs)
        except UsageError:
            raise
        except FAILURES as error:
            raise UsageError(
                f"the objective of your own failed on an example. Got {described(error)}. Mend it."
            ) from error
    if not bool(torch.isfinite(gradient).all()):
        raise UsageError("the objective of your own has a gradient that is not finite. Mend it.")


def _shaped(axis: str, value: object) -> Tensor:
    n = sum(LENGTHS)
    if not isinstance(value, Tensor) or value.shape != (n,):
        got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise UsageError(
            f"objective.{axis} of your own must return a tensor with one value a token, ({n},). "
            f"Got {got}. Mend it."
        )
    return value


def _require_rewards(objective: Objective) -> None:
    """Also where all agree and where one stands alone: there a std is 0."""
    for rewards in ((1.0, 0.0, 0.5), (1.0, 1.0, 1.0), (1.0,)):
        credit = np.asarray(objective.credit(np.array(rewards)))
        if credit.shape != (len(rewards),) or not np.isfinite(credit).all():
            raise UsageError(
                "objective.credit of your own must return a finite advantage for each reward. "
                f"Got {credit.tolist()!r:.60} for {rewards}. Mend it."
            )
