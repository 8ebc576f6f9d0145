"""Attention over tokens that stand in one line: prompts see themselves, answers their prompt too.

Only here are sequences padded, several of like length together. Each token's queries, keys and
values go to one place of a padded block and their gradients come back from it, so both ways are
plain reads; a prompt's keys and values are shared by its answers through a matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import Function
from torch.nn import functional

from evenodds.batch import Packed
from evenodds.policies.fused.operations import rotate
from evenodds.policies.fused.weights import Fused, Shape

FEW_KEYS = 512  # up to here a CPU is faster with two products, whose memory grows with the keys
FEW_TOKENS = 1024  # padded tokens below which a block is not worth splitting


@dataclass(frozen=True)
class Block:
    """b sequences of at most l tokens, whose heads of one KV head stand in as query rows.

    few: whether two products and a softmax are faster than the fused kernel.
    mask: added to the scores.
    chosen: 1 at the prompt whose keys each sequence sees besides its own; None for prompts.
    """

    sequences: int
    length: int
    few: bool
    mask: Float[Tensor, "b 1 q k"]
    chosen: Float[Tensor, "b p"] | None = None


@dataclass(frozen=True)
class Arrangement:
    """Where each head of each token stands in the padded blocks.

    take: for each padded place, queries of all blocks first, then keys and values block by block,
        the row of [tokens * (heads + 2 kv heads)] that it shows. back: the inverse.
    seen: for each padded query, the row of [tokens * heads] that its result goes to; real is 0
        where there is none.
    """

    shape: Shape
    blocks: tuple[Block, ...]
    take: Int[Tensor, " c"]
    back: Int[Tensor, " t*h"]
    seen: Int[Tensor, " q"]
    real: Float[Tensor, "q 1"]
    cos: Float[Tensor, "t 1 d"]
    sin: Float[Tensor, "t 1 d"]

    @property
    def out(self) -> Int[Tensor, "t heads"]:
        """The padded query of each head of each token."""
        return self.back.view(-1, self.shape.every)[:, : self.shape.heads]


@dataclass(frozen=True)
class _Span:
    """Sequences next to each other in the line: numbers of answers, or all prompts (None)."""

    cells: NDArray[np.int64]  # [b, l] token of each place, -1 at padding
    prompt_of: NDArray[np.int64] | None


def _cells(lengths: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    starts = first + lengths.cumsum() - lengths
    columns = np.arange(lengths.max())
    return np.where(columns < lengths[:, None], starts[:, None] + columns, -1)


def _cuts(lengths: NDArray[np.int64]) -> list[slice]:
    """Answers, longest first, in runs of like length: padding costs most where they differ."""
    found: list[slice] = []
    start = 0
    for end in range(1, len(lengths) + 1):
        enough = (end - start) * lengths[start] >= FEW_TOKENS
        if end == len(lengths) or (enough and lengths[end] * 4 < lengths[start] * 3):
            found.append(slice(start, end))
            start = end
    return found


def _spans(packed: Packed) -> list[_Span]:
    spans = [_Span(_cells(packed.prompts, 0), None)]
    ends = packed.prompts.sum() + packed.answers.cumsum()
    for cut in _cuts(packed.answers):
        lengths = packed.answers[cut]
        first = int(ends[cut.start] - lengths[0])
        spans.append(_Span(_cells(lengths, first), packed.prompt_of[cut]))
    return spans


def _mask(span: _Span, prompts: NDArray[np.int64], repeats: int) -> NDArray[np.bool_]:
    """[b, l * repeats, k] whether a query, in order of tokens, sees a key."""
    count, length = span.cells.shape
    own = np.broadcast_to(np.tri(length, dtype=bool), (count, length, length))
    if span.prompt_of is not None:
        before = np.arange(prompts.max()) < prompts[span.prompt_of][:, None]
        before = np.broadcast_to(before[:, None], (count, length, before.shape[1]))
        own = np.concatenate([before, own], axis=2)
    return own.repeat(repeats, axis=1)


def _rows(span: _Span, shape: Shape, start: int, heads: int, repeats: int) -> NDArray[np.int64]:
    """Rows of [tokens * all heads] of heads from `start` on, in order [b, kv heads, l, repeats]."""
    number = start + np.arange(heads).reshape(-1, 1, repeats)
    cells = span.cells[:, None, :, None]
    return np.where(cells < 0, -1, cells * shape.every + number).ravel()


def arrange(model: Fused, packed: Packed) -> Arrangement:
    """All that the layers share for one micro-batch."""
    shape, weight = model.shape, model.embedding
    repeats, kv, every = shape.heads // shape.kv_heads, shape.kv_heads, shape.every
    spans = _spans(packed)
    queries = np.concatenate([_rows(span, shape, 0, shape.heads, repeats) for span in spans])
    others = [_rows(span, shape, shape.heads + start, kv, 1) for span in spans for start in (0, kv)]
    take = np.concatenate([queries, *others])
    back = np.empty(len(packed.input_ids) * every, dtype=np.int64)
    back[take[take >= 0]] = np.flatnonzero(take >= 0)
    seen = queries // every * shape.heads + queries % every

    def tensor(array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(weight.device, non_blocking=True)

    cos, sin = model.angles(packed.positions)
    return Arrangement(
        shape=shape,
        blocks=tuple(_block(span, packed.prompts, shape, weight) for span in spans),
        take=tensor(take.clip(0)),
        back=tensor(back),
        seen=tensor(seen.clip(0)),
        real=tensor(queries >= 0)[:, None].to(weight.dtype),
        cos=cos[:, None],
        sin=sin[:, None],
    )


def _block(span: _Span, prompts: NDArray[np.int64], shape: Shape, like: Tensor) -> Block:
    sees = torch.from_numpy(_mask(span, prompts, shape.heads // shape.kv_heads))
    sees = sees.to(like.device, non_blocking=True)
    mask = torch.zeros(sees.shape, dtype=like.dtype, device=like.device)
    mask = mask.masked_fill_(~sees, float("-inf"))[:, None]
    few = like.device.type == "cpu" and mask.shape[-1] <= FEW_KEYS
    chosen = None
    if span.prompt_of is not None:
        numbers = torch.from_numpy(span.prompt_of).to(like.device, non_blocking=True)
        chosen = functional.one_hot(numbers, len(prompts)).to(like.dtype)
    count, length = span.cells.shape
    return Block(count, length, few, mask, chosen)


class _Spread(Function):
    """Rotate queries and keys of [tokens, heads, size], scale queries; all go to their places."""

    @staticmethod
    def forward(ctx: Any, fused: Tensor, at: Arrangement) -> Tensor:
        ctx.at = at
        q_k, v = fused[:, : at.shape.turned], fused[:, at.shape.turned :]
        whole = torch.cat((rotate(q_k, at.cos, at.sin), v), dim=1)
        whole[:, : at.shape.heads].mul_(at.shape.scale)
        return whole.flatten(0, 1).index_select(0, at.take)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None]:
        (dy,) = outputs
        at = ctx.at
        found = dy.index_select(0, at.back).unflatten(0, (-1, at.shape.every))
        q_k = found[:, : at.shape.turned]
        q_k.copy_(rotate(q_k, at.cos, -at.sin))
        found[:, : at.shape.heads].mul_(at.shape.scale)
        return found, None


class _Gather(Function):
    """Results of padded queries back to [tokens, heads * size]."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, at: Arrangement) -> Tensor:
        ctx.at = at
        out = at.out
        return padded.index_select(0, out.flatten()).view(len(out), -1)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None]:
        (dy,) = outputs
        at = ctx.at
        rows = dy.reshape(-1, at.shape.head_size).index_select(0, at.seen)
        return rows.mul_(at.real), None


def _weighted(q: Tensor, k: Tensor, v: Tensor, block: Block) -> Tensor:
    """softmax(q k' + mask) v for queries that are scaled, [b, kv heads, l, d]."""
    if not block.few:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=block.mask, scale=1.0)
    scores = torch.matmul(q, k.transpose(-1, -2)).add_(block.mask)
    return torch.matmul(scores.softmax(-1), v)


def attend(fused: Float[Tensor, "t all_heads d"], at: Arrangement) -> Float[Tensor, "t heads*d"]:
    """Attention of queries, keys and values that are not rotated yet. fused: in that order."""
    padded: Any = _Spread.apply(fused, at)  # pyright: ignore[reportUnknownMemberType]
    shape = at.shape
    places = [block.sequences * block.length for block in at.blocks]
    sizes = [place * shape.heads for place in places]
    sizes += [place * shape.kv_heads for place in places for _ in range(2)]
    rows = padded.split(sizes)
    queries, others = rows[: len(places)], rows[len(places) :]
    prompt_k = prompt_v = None
    found: list[Tensor] = []
    for number, block in enumerate(at.blocks):
        q, k, v = (
            x.view(block.sequences, shape.kv_heads, -1, shape.head_size)
            for x in (queries[number], others[2 * number], others[2 * number + 1])
        )
        if block.chosen is None:
            prompt_k, prompt_v = k, v
        elif prompt_k is not None and prompt_v is not None:
            k = torch.cat((_copies(block.chosen, prompt_k), k), dim=2)
            v = torch.cat((_copies(block.chosen, prompt_v), v), dim=2)
        found.append(_weighted(q, k, v, block).reshape(-1, shape.head_size))
    gathered: Any = _Gather.apply(torch.cat(found), at)  # pyright: ignore[reportUnknownMemberType]
    return gathered


def _copies(chosen: Float[Tensor, "b p"], prompts: Float[Tensor, "p k l d"]) -> Tensor:
    """Each answer's prompt. As a product, so that gradients of all answers add up in one too."""
    return (chosen @ prompts.flatten(1)).unflatten(1, prompts.shape[1:])
