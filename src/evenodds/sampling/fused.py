"""A decoder for the Llama / Qwen2 / Qwen3 family: few operations a token, fixed KV slots.

At small sizes the count of operations is the cost, so projections are fused and everything that
does not depend on the token is prepared once. The weights are the learner's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evenodds.policies import Policy
from evenodds.policies.fused.operations import gated, rms, rotate
from evenodds.policies.fused.weights import Fused, Layer, Shape
from evenodds.policies.policy import Head
from evenodds.sampling.packed import Decoding, PackedLinear, can_pack
from evenodds.sampling.slots import Slots
from evenodds.sampling.transfer import sent

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


class _Block:
    """A layer as it is decoded: its weights, and its projections ready to be multiplied.

    heads_norm: [heads + kv heads, head size], the norms of queries and keys as one; or None.
    """

    def __init__(self, layer: Layer, shape: Shape) -> None:
        self.layer, self.shape = layer, shape
        self.qkv, self.out, self.gate_up, self.down = map(Decoding, layer.projections)
        self.refresh()

    def refresh(self) -> None:
        """Take what the learner has changed."""
        for projection in (self.qkv, self.out, self.gate_up, self.down):
            projection.refresh()
        norm = self.layer.heads_norm(self.shape)
        self.heads_norm = None if norm is None else norm.detach()


class FusedDecoder:
    """Keys and values live in slots, one a row, and each row writes at its own position.

    So rows of different lengths share every operation.
    """

    takes_more = True

    def __init__(self, policy: Policy, model: Fused) -> None:
        self.policy, self.model, self.shape = policy, model, model.shape
        model.refresh()  # a learner may have changed the factors since the model was read
        self.device = policy.device
        self.patience = 0.0 if policy.device.type == "cpu" else 1 / 8
        self.blocks = [_Block(layer, model.shape) for layer in model.layers]
        self.head = _decoding_head(policy.head)
        self._remember(0)
        self.start(0)

    def refresh(self) -> None:
        """Read the learner's weights again."""
        self.model.refresh()
        for block in self.blocks:
            block.refresh()
        if isinstance(self.head.linear, PackedLinear):
            self.head.linear.refresh()
        self._remember(0)

    def start(self, columns: int) -> None:
        """Forget all rows, and their memory. None will hold more than `columns` tokens."""
        shape = self.shape
        like = self.model.embedding.detach()
        self.slots = Slots(len(self.blocks), shape.kv_heads, shape.head_size, columns, like)

    def admit(self, prompts: Sequence[NDArray[np.int64]], copies: int) -> Float[Tensor, "p v"]:
        """Run each prompt once, give each `copies` rows behind the present ones.

        Returns the logits after each prompt, [prompts, vocabulary].
        """
        sizes = np.array([prompt.size for prompt in prompts])
        ids = np.zeros((len(prompts), sizes.max()), dtype=np.int64)
        for row, prompt in enumerate(prompts):
            ids[row, : prompt.size] = prompt
        self._reach(int(sizes.max()))
        shared = common_prefix(prompts)
        seen = None
        if shared:  # worked examples, a system prompt: run once, seen by all
            _, seen = self._prefill(ids[:1, :shared], None)
        hidden, fresh = self._prefill(ids[:, shared:], seen)
        last = hidden[torch.arange(len(prompts)), torch.from_numpy(sizes - 1 - shared)]
        self.slots.add(sizes, copies, fresh)
        return self.head(rms(last, self.model.norm, self.shape.eps))

    def step(self, tokens: Int[Tensor, " b"]) -> Float[Tensor, "b v"]:
        """Append one token to every row and return the logits after it."""
        self._reach(int(self.slots.sizes.max()) + 1)
        x = functional.embedding(tokens, self.model.embedding)
        lengths = sent(self.slots.sizes, self.device)
        cos, sin = self.cos[lengths].unsqueeze(1), self.sin[lengths].unsqueeze(1)
        mask = self._unseen(lengths)
        places = self.slots.places(lengths)
        size = self.shape.head_size
        for number, block in enumerate(self.blocks):
            q, k, v = self._project(block, x, cos, sin)
            self.slots.stores[number].view(-1, size).index_copy_(
                0, places, torch.stack((k, v)).view(-1, size)
            )
            x = self._finish(block, x, self._attend(q, self.slots.flat(number), mask))
        self.slots.grow()
        return self.head(rms(x, self.model.norm, self.shape.eps))

    def drop(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Forget these rows; see `Slots.drop`."""
        return self.slots.drop(rows)

    def _reach(self, columns: int) -> None:
        """Room for `columns` tokens a row, and what depends on a position alone."""
        self.slots.widen(columns)
        if self.slots.columns > len(self.cos):
            self._remember(2 * self.slots.columns)

    def _remember(self, columns: int) -> None:
        """The angles of so many positions."""
        self.cos, self.sin = self.model.angles(torch.arange(columns, device=self.device))

    def _unseen(self, lengths: Int[Tensor, " b"]) -> Float[Tensor, "b 1 c"]:
        """What is added to the scores: minus infinity behind the row's own token."""
        columns = torch.arange(self.slots.columns, device=self.device)
        unseen = columns > lengths.unsqueeze(1)
        mask = torch.zeros(unseen.shape, dtype=self.model.embedding.dtype, device=self.device)
        return mask.masked_fill_(unseen, float("-inf")).unsqueeze(1)

    def _project(
        self, block: _Block, x: Tensor, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [..., heads, head size] of x [..., hidden], rotated."""
        shape = self.shape
        fused = block.qkv(rms(x, block.layer.norm_in, shape.eps))
        fused = fused.view(*x.shape[:-1], -1, shape.head_size)
        turned = fused.narrow(-2, 0, shape.turned)
        v = fused.narrow(-2, shape.turned, shape.kv_heads)
        if block.heads_norm is not None:
            turned = rms(turned, block.heads_norm, shape.eps)
        turned = rotate(turned, cos, sin)
        q = turned.narrow(-2, 0, shape.heads)
        return q, turned.narrow(-2, shape.heads, shape.kv_heads), v

    def _attend(self, q: Tensor, slots: Tensor, mask: Tensor) -> Tensor:
        """One query a row; the heads of one KV head stand in as query rows: no copy of the keys.

        Two products over whole, contiguous slots beat the fused kernel here by 2 to 4 times.
        """
        shape = self.shape
        rows, columns = len(q), slots.shape[2]
        q = (q * shape.scale).view(rows * shape.kv_heads, -1, shape.head_size)
        scores = torch.bmm(q, slots[0].transpose(1, 2))
        scores.view(rows, shape.heads, columns).add_(mask)
        return torch.bmm(scores.softmax(-1), slots[1]).view(rows, -1)

    def _finish(self, block: _Block, x: Tensor, seen: Tensor) -> Tensor:
        x = block.out(seen).add_(x)
        inner = block.gate_up(rms(x, block.layer.norm_post, self.shape.eps))
        return block.down(gated(inner)).add_(x)

    def _prefill(
        self, ids: NDArray[np.int64], before: list[Tensor] | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Tokens [rows, width], behind those whose keys and values [2, 1, kv, c, size] are given.

        Padding stands on the right, where nothing sees it. Returns the states before the last norm,
        [rows, width, hidden], and keys and values of each layer, [2, rows, kv, c + width, size].
        """
        start = before[0].shape[3] if before else 0
        end = start + ids.shape[1]
        columns = torch.arange(end, device=self.device)
        mask = columns <= columns[start:, None] if start else None
        x = functional.embedding(sent(ids, self.device), self.model.embedding)
        cos, sin = self.cos[start:end, None], self.sin[start:end, None]
        found: list[Tensor] = []
        for number, block in enumerate(self.blocks):
            q, k, v = self._project(block, x, cos, sin)
            both = torch.stack((k.transpose(1, 2), v.transpose(1, 2)))
            if before:
                both = torch.cat((before[number].expand(-1, len(ids), -1, -1, -1), both), dim=3)
            repeats = self.shape.heads // self.shape.kv_heads
            keys, values = both if repeats == 1 else both.repeat_interleave(repeats, dim=2)
            seen = functional.scaled_dot_product_attention(
                q.transpose(1, 2), keys, values, attn_mask=mask, is_causal=mask is None
            )
            x = self._finish(block, x, seen.transpose(1, 2).flatten(2))
            found.append(both)
        return x, found


def _decoding_head(head: Head) -> Head:
    """The output head, with its weights packed where that pays. One with an adapter is left."""
    linear: Any = head.linear
    packs = type(linear) is nn.Linear and can_pack(linear.weight)
    return replace(head, linear=PackedLinear(linear)) if packs else head
