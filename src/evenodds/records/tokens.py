"""Recorded answers as the tokens that an objective scores. torch is imported when one is asked for.

What goes in is a pair for each answer in the loss: as it was collated, and as it was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds.records.values import Answer

if TYPE_CHECKING:
    from evenodds.batch import Answer as Collated
    from evenodds.objectives import Tokens


def tokens_of(
    rows: Sequence[tuple[Collated, Answer]],
    now: Sequence[NDArray[np.floating]],
    first: Sequence[NDArray[np.floating] | None],
) -> Tokens:
    """The tokens of all answers in the loss, in float64; the gradient is asked of `logprobs`.

    now, first: [tokens] each, the learner's log-probabilities in the pass that is looked at and in
    the first one. What an answer lacks is missing as a whole.
    """
    import torch

    from evenodds.objectives import Tokens

    def joined(values: Sequence[Any]) -> Any:
        known = [value for value in values if value is not None]
        whole = len(known) == len(values)
        return torch.from_numpy(np.concatenate(known).astype(np.float64)) if whole else None

    lengths = np.array([collated.ids.size for collated, _ in rows])
    return Tokens(
        logprobs=joined(now).requires_grad_(),
        old_logprobs=joined([collated.old_logprobs for collated, _ in rows]),
        advantages=joined([np.full(c.ids.size, c.advantage) for c, _ in rows]),
        rollout=torch.from_numpy(np.repeat(np.arange(len(rows)), lengths)),
        lengths=torch.from_numpy(lengths),
        first_logprobs=joined(first),
        reference_logprobs=joined([collated.reference_logprobs for collated, _ in rows]),
        entropy=joined([answer.entropy for _, answer in rows]),
    )
