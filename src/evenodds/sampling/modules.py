"""The decoder for any other causal language model: its own Hugging Face modules and cache.

All rows end at a common column: a row that comes later is padded on the left, and the attention
mask hides the padding. What no row needs any more is cut off. Families whose cache is not plain
keys and values take new rows only when all earlier ones have finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from evenodds.policies import Policy


def _is_plain(cache: Any) -> bool:
    from transformers.cache_utils import DynamicLayer

    return all(type(layer) is DynamicLayer for layer in cache.layers)


def _join(first: Tensor, second: Tensor) -> Tensor:
    """Rows of two caches [rows, heads, columns, size] under one another, padded on the left."""
    columns = max(first.shape[2], second.shape[2])
    padded = [functional.pad(t, (0, 0, columns - t.shape[2], 0)) for t in (first, second)]
    return torch.cat(padded)


class ModuleDecoder:
    """The same five calls as `FusedDecoder`, through the model's own forward."""

    patience = 1 / 8  # dropping copies the cache

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.device = policy.device
        accepted = signature(policy.backbone.forward).parameters
        self.cache_name = "cache" if "cache" in accepted else "past_key_values"  # by release
        self.training = False
        self._forget()

    def refresh(self) -> None:
        """Nothing is copied here: the modules are the learner's own."""

    def start(self, columns: int) -> None:
        """Forget all rows. The cache grows by itself; 0 columns: nothing will be decoded now.

        A learner that computes activations again leaves the model in training mode, in which some
        families keep no cache.
        """
        backbone = self.policy.backbone
        if columns and backbone.training:
            self.training = True
            backbone.eval()
        elif not columns and self.training:
            self.training = False
            backbone.train()
        self._forget()

    def _forget(self) -> None:
        self.cache: Any = None
        self.mask = torch.zeros(0, 0, dtype=torch.long, device=self.device)

    @property
    def takes_more(self) -> bool:
        return self.cache is None or len(self.mask) == 0 or _is_plain(self.cache)

    def admit(self, prompts: Sequence[NDArray[np.int64]], copies: int) -> Float[Tensor, "p v"]:
        width = max(p.size for p in prompts)
        ids = torch.zeros(len(prompts), width, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, width - prompt.size :] = torch.from_numpy(prompt)
            mask[row, width - prompt.size :] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        cache, logits = self._forward(ids, mask, None)
        cache.batch_repeat_interleave(copies)
        self._append(cache, mask.repeat_interleave(copies, dim=0))
        return logits

    def step(self, tokens: Int[Tensor, " b"]) -> Float[Tensor, "b v"]:
        self.mask = functional.pad(self.mask, (0, 1), value=1)
        self.cache, logits = self._forward(tokens[:, None], self.mask, self.cache)
        return logits

    def drop(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Forget these rows. Returns, for each row that is left, which one it was."""
        left = np.setdiff1d(np.arange(len(self.mask)), rows)
        if len(left) == 0:
            self._forget()
            return left
        chosen = torch.from_numpy(left).to(self.device)
        self.cache.batch_select_indices(chosen)
        self.mask = self.mask[chosen]
        self._trim()
        return left

    def _trim(self) -> None:
        """Cut off the columns that only rows which are gone had, or the cache would grow on."""
        unused = int(self.mask.any(0).int().argmax())
        if unused and _is_plain(self.cache):
            self.mask = self.mask[:, unused:]
            for layer in self.cache.layers:
                layer.keys, layer.values = layer.keys[:, :, unused:], layer.values[:, :, unused:]

    def _forward(self, ids: Tensor, mask: Tensor, cache: Any) -> tuple[Any, Tensor]:
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = self.policy.backbone(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            **{self.cache_name: cache},
        )
        return output[self.cache_name], self.policy.head(output.last_hidden_state[:, -1])

    def _append(self, cache: Any, mask: Tensor) -> None:
        if self.cache is None:
            self.cache, self.mask = cache, mask
            return
        for mine, new in zip(self.cache.layers, cache.layers, strict=True):
            mine.keys, mine.values = _join(mine.keys, new.keys), _join(mine.values, new.values)
        columns = max(self.mask.shape[1], mask.shape[1])
        padded = [functional.pad(m, (columns - m.shape[1], 0)) for m in (self.mask, mask)]
        self.mask = torch.cat(padded)
