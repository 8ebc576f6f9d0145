"""Answers of given lengths: what costs time is the same for all, whatever the model would say."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class ForcedLengths:
    """A logits processor of Hugging Face generate: row i ends with its targets[i]-th token.

    Before that, end tokens cannot be drawn; then nothing else can. It writes into the scores that
    it is given: a few columns, and the rows that end now.
    """

    def __init__(self, targets: Sequence[int], ends: Collection[int], prompt_width: int) -> None:
        self.targets = torch.tensor(targets)
        self.ends, self.end = sorted(ends), min(ends)
        self.prompt_width = prompt_width

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        number = input_ids.shape[1] - self.prompt_width + 1  # of the token that is drawn now
        scores[:, self.ends] = -torch.inf
        over = (self.targets <= number).nonzero()[:, 0]
        scores[over] = -torch.inf
        scores[over, self.end] = 0.0
        return scores


def forced(
    tokens: NDArray[np.int64],
    numbers: NDArray[np.int64],
    targets: NDArray[np.int64],
    ends: Collection[int],
    harmless: int,
) -> None:
    """Change drawn tokens in place: an end token where `numbers` (counted from 1) reaches the
    target, a harmless one in place of an end token before it."""
    tokens[np.isin(tokens, list(ends))] = harmless
    tokens[numbers >= targets] = min(ends)
