"""A decoder for the Llama / Qwen2 / Qwen3 family: few operations a token, fixed KV slots.

At small sizes the count of operations is the cost, so projections are fused and everything that
does not depend on the token is prepared once. The weights are the learner's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from evenodds.policies import Policy
from evenodds.policies.fused.operations import gated, rms, rotate
from evenodds.policies.fused.weights import Fused, Layer
from evenodds.policies.policy import Head
from evenodds.sampling.packed import Decoding, PackedLinear, can_pack

STEP = 16  # columns that slots grow by
WORTH = 8  # tokens that prompts must share before they are run once


def common_prefix(prompts: Sequence[NDArray[np.int64]]) -> int:
    """Tokens that all prompts begin with, if they are worth it; each keeps one token of its own."""
    most = min(prompt.size for prompt in prompts) - 1
    if len(prompts) < 2 or most < WORTH:
        return 0
    rows = np.stack([prompt[:most] for prompt in prompts])
    same = (rows == rows[0]).all(axis=0)
    length = most if same.all() else int(same.argmin())
    return length if length >= WORTH else 0


@dataclass(frozen=True)
class _Block:
    """A layer as it is decoded: its weights, and its projections ready to be multiplied."""

    layer: Layer
    qkv: Decoding
    out: Decoding
    gate_up: Decoding
    down: Decoding

    @classmethod
    def of(cls, layer: Layer) -> _Block:
        return cls(layer, *(Decoding(projection) for projection in layer.projections))


class FusedDecoder:
    """Keys and values live in slots, one a row: a layer's are [2, rows, kv heads, columns, size].

    A row writes at its own position, so rows of different lengths share every operation.
    """

    takes_more = True

    def __init__(self, policy: Policy, model: Fused) -> None:
        self.policy, self.model, self.shape = policy, model, model.shape
        self.device = policy.device
        self.blocks = [_Block.of(layer) for layer in model.layers]
        self.head = _decoding_head(policy.head)
        self.cos, self.sin = self._tables(0)
        self.start()

    def refresh(self) -> None:
        """Read the learner's weights again."""
        self.model.refresh()
        for block in self.blocks:
            for projection in (block.qkv, block.out, block.gate_up, block.down):
                projection.refresh()

    def start(self) -> None:
        """Forget all rows."""
        self.columns = 0
        self.cache = [self._slots(0, 0) for _ in self.blocks]
        self.sizes = np.zeros(0, dtype=np.int64)  # tokens that each row holds

    def admit(self, prompts: Sequence[NDArray[np.int64]], copies: int) -> Float[Tensor, "p v"]:
        """Run each prompt once, give each `copies` rows behind the present ones.

        Returns the logits after each prompt, [prompts, vocabulary].
        """
        sizes = np.array([prompt.size for prompt in prompts])
        ids = np.zeros((len(prompts), sizes.max()), dtype=np.int64)
        for row, prompt in enumerate(prompts):
            ids[row, : prompt.size] = prompt
        self._widen(int(sizes.max()))
        fresh = [self._slots(len(prompts), self.columns) for _ in self.blocks]
        shared = common_prefix(prompts)
        if shared:  # worked examples, a system prompt: run once, seen by all
            once = [self._slots(1, shared) for _ in self.blocks]
            self._prefill(ids[:1, :shared], 0, once)
            for slots, common in zip(fresh, once, strict=True):
                slots[..., :shared, :] = common
        hidden = self._prefill(ids[:, shared:], shared, fresh)
        last = hidden[torch.arange(len(prompts)), torch.from_numpy(sizes - 1 - shared)]
        for number, slots in enumerate(fresh):
            self.cache[number] = torch.cat(
                [self.cache[number], slots.repeat_interleave(copies, dim=1)], dim=1
            )
        self.sizes = np.append(self.sizes, sizes.repeat(copies))
        return self.head(rms(last, self.model.norm, self.shape.eps))

    def step(self, tokens: Int[Tensor, " b"]) -> Float[Tensor, "b v"]:
        """Append one token to every row and return the logits after it."""
        self._widen(int(self.sizes.max()) + 1)
        x = functional.embedding(tokens, self.model.embedding)
        lengths = torch.from_numpy(self.sizes).to(self.device, non_blocking=True)
        cos, sin = self.cos[lengths][:, None], self.sin[lengths][:, None]
        mask = self._unseen(lengths)
        places = self._places(lengths)
        for block, slots in zip(self.blocks, self.cache, strict=True):
            q, k, v = self._project(block, x, cos, sin)
            flat = slots.view(2, -1, self.shape.head_size)
            flat[0].index_copy_(0, places, k.reshape(-1, self.shape.head_size))
            flat[1].index_copy_(0, places, v.reshape(-1, self.shape.head_size))
            x = self._finish(block, x, self._attend(q, slots[0], slots[1], mask))
        self.sizes = self.sizes + 1
        return self.head(rms(x, self.model.norm, self.shape.eps))

    def keep(self, rows: Int[Tensor, " k"]) -> None:
        """Forget all rows but these."""
        self.cache = [slots.index_select(1, rows) for slots in self.cache]
        self.sizes = self.sizes[rows.cpu().numpy()]

    def _unseen(self, lengths: Int[Tensor, " b"]) -> Float[Tensor, "b 1 1 c"]:
        """What is added to the scores: minus infinity at columns behind the row's own token."""
        columns = torch.arange(self.columns, device=self.device)
        unseen = columns > lengths[:, None]
        mask = torch.zeros(unseen.shape, dtype=self.model.embedding.dtype, device=self.device)
        return mask.masked_fill_(unseen, float("-inf"))[:, None, None]

    def _places(self, lengths: Int[Tensor, " b"]) -> Int[Tensor, " b*k"]:
        """Where the next key of each row and head goes, among all columns of a layer."""
        heads = torch.arange(len(lengths) * self.shape.kv_heads, device=self.device)
        return heads * self.columns + lengths.repeat_interleave(self.shape.kv_heads)

    def _widen(self, columns: int) -> None:
        """Room for at least `columns` tokens a row, in steps, so that slots stay contiguous."""
        short = columns - self.columns
        if short > 0:
            more = short + -columns % STEP
            self.columns += more
            self.cache = [functional.pad(slots, (0, 0, 0, more)) for slots in self.cache]
            self.cos, self.sin = self._tables(self.columns)

    def _slots(self, rows: int, columns: int) -> Tensor:
        size = (2, rows, self.shape.kv_heads, columns, self.shape.head_size)
        return torch.zeros(size, dtype=self.model.embedding.dtype, device=self.device)

    def _tables(self, columns: int) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines of every position, [columns, head size]."""
        positions = torch.arange(columns, device=self.device)[None]
        cos, sin = self.model.rotary(self.model.embedding, positions)
        half = self.shape.head_size // 2
        return cos[0], torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)

    def _project(
        self, block: _Block, x: Tensor, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [..., heads, head size] of x [..., hidden], rotated."""
        shape, layer = self.shape, block.layer
        fused = block.qkv(rms(x, layer.norm_in, shape.eps))
        fused = fused.unflatten(-1, (-1, shape.head_size))
        turned, v = fused.split([shape.heads + shape.kv_heads, shape.kv_heads], dim=-2)
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = turned.split([shape.heads, shape.kv_heads], dim=-2)
            q, k = rms(q, layer.q_norm, shape.eps), rms(k, layer.k_norm, shape.eps)
            turned = torch.cat((q, k), dim=-2)
        q, k = rotate(turned, cos, sin).split([shape.heads, shape.kv_heads], dim=-2)
        return q, k, v

    def _attend(self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """One query a row; the heads of one KV head stand in as query rows: no copy of the keys.

        Two products over whole, contiguous slots beat the fused kernel here by 2 to 4 times.
        """
        grouped = (q * self.shape.head_size**-0.5).unflatten(1, (self.shape.kv_heads, -1))
        scores = torch.matmul(grouped, keys.transpose(-1, -2)).add_(mask)
        return torch.matmul(scores.softmax(-1), values).flatten(1)

    def _finish(self, block: _Block, x: Tensor, seen: Tensor) -> Tensor:
        x = block.out(seen).add_(x)
        inner = block.gate_up(rms(x, block.layer.norm_post, self.shape.eps))
        return block.down(gated(inner)).add_(x)

    def _prefill(self, ids: NDArray[np.int64], start: int, cache: list[Tensor]) -> Tensor:
        """The tokens [rows, width] behind the first `start` columns, which `cache` holds already.

        Padding stands on the right, where nothing sees it. Fills the cache. Returns the states
        before the last norm, [rows, width, hidden].
        """
        end = start + ids.shape[1]
        columns = torch.arange(end, device=self.device)
        mask = columns <= columns[start:, None] if start else None
        x = functional.embedding(torch.from_numpy(ids).to(self.device), self.model.embedding)
        cos, sin = self.cos[start:end, None], self.sin[start:end, None]
        for block, slots in zip(self.blocks, cache, strict=True):
            q, k, v = self._project(block, x, cos, sin)
            slots[0, :, :, start:end] = k.transpose(1, 2)
            slots[1, :, :, start:end] = v.transpose(1, 2)
            seen = functional.scaled_dot_product_attention(
                q.transpose(1, 2),
                slots[0, :, :, :end],
                slots[1, :, :, :end],
                attn_mask=mask,
                is_causal=mask is None,
                enable_gqa=self.shape.heads != self.shape.kv_heads,
            )
            x = self._finish(block, x, seen.transpose(1, 2).flatten(2))
        return x


def _decoding_head(head: Head) -> Head:
    """The output head, with its weights packed where that pays."""
    linear: Any = head.linear
    return replace(head, linear=PackedLinear(linear)) if can_pack(linear.weight) else head
