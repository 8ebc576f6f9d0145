"""A lean decoder for the Llama / Qwen2 / Qwen3 family: few operations a token, fixed KV slots.

At small sizes the count of operations is the cost, so projections are fused and everything that
does not depend on the token is prepared once. Weights are read from the learner's own modules; the
product of an adapter goes into a copy (float32) or stays a product (bfloat16): the base is never
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evenodds.policies import Policy
from evenodds.policies.policy import Head

STEP = 16  # columns that slots grow by
WORTH = 8  # tokens that prompts must share before they are run once


@dataclass(frozen=True)
class Projection:
    """One or several linear layers that read the same input, as one: y = x W' + bias.

    down, up: the low-rank product of LoRA, kept apart in float32 where the weights are bfloat16.
    Added into bfloat16 weights, changes below their rounding step would be lost, and the sampler
    would not be the policy that learns.
    """

    weight: Tensor
    bias: Tensor | None = None
    down: Tensor | None = None
    up: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        y = functional.linear(x, self.weight, self.bias)
        if self.down is None or self.up is None:
            return y
        low = functional.linear(x.float(), self.down)
        return (y + functional.linear(low, self.up)).to(y.dtype)


@dataclass(frozen=True)
class Layer:
    """One block; q, k, v are one projection, gate and up another."""

    norm_in: Tensor
    qkv: Projection
    q_norm: Tensor | None
    k_norm: Tensor | None
    out: Projection
    norm_post: Tensor
    gate_up: Projection
    down: Projection


@dataclass(frozen=True)
class Shape:
    """Heads and widths; eps of the norms."""

    heads: int
    kv_heads: int
    head_size: int
    eps: float


def supports(policy: Policy) -> bool:
    """Whether this decoder computes exactly what the policy's own modules compute."""
    config = policy.model.config
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        policy.is_plain_causal
        and config.hidden_act == "silu"
        and rope.get("rope_type", "default") in ("default", "linear", "llama3", "yarn")
        and not getattr(config, "mlp_bias", False)
    )


def _factors(module: Any) -> tuple[Tensor, Tensor]:
    """A [rank, in] and scale · B [out, rank] of the active adapter in float32; rank 0 if none."""
    for name in getattr(module, "active_adapters", ()):
        if name in module.lora_A:
            low = module.lora_A[name].weight.detach().float()
            high = module.lora_B[name].weight.detach().float()
            return low, high * module.scaling[name]
    weight = getattr(module, "base_layer", module).weight
    return weight.new_zeros(0, weight.shape[1]).float(), weight.new_zeros(
        weight.shape[0], 0
    ).float()


def _projection(*modules: Any) -> Projection:
    """The effective layer of `modules`, side by side. Base weights are read, never written."""
    bases = [getattr(module, "base_layer", module) for module in modules]
    weight = torch.cat([base.weight.detach() for base in bases]) if bases[1:] else bases[0].weight
    biases = [base.bias for base in bases]
    bias = None if biases[0] is None else torch.cat([bias.detach() for bias in biases])
    factors = [_factors(module) for module in modules]
    low = torch.cat([pair[0] for pair in factors])
    high = torch.block_diag(*[pair[1] for pair in factors])
    if low.shape[0] == 0:
        return Projection(weight.detach(), bias)
    if weight.dtype == torch.float32:
        return Projection(torch.addmm(weight.detach(), high, low), bias)
    return Projection(weight.detach(), bias, low, high)


def _norm_weight(module: Any, name: str) -> Tensor | None:
    norm = getattr(module, name, None)
    return None if norm is None else norm.weight.detach()


def _layer(block: Any) -> Layer:
    attention, mlp = block.self_attn, block.mlp
    return Layer(
        norm_in=block.input_layernorm.weight.detach(),
        qkv=_projection(attention.q_proj, attention.k_proj, attention.v_proj),
        q_norm=_norm_weight(attention, "q_norm"),
        k_norm=_norm_weight(attention, "k_norm"),
        out=_projection(attention.o_proj),
        norm_post=block.post_attention_layernorm.weight.detach(),
        gate_up=_projection(mlp.gate_proj, mlp.up_proj),
        down=_projection(mlp.down_proj),
    )


def _rms(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    if x.dtype == torch.float32:
        return functional.rms_norm(x, (x.shape[-1],), weight, eps)
    return weight * functional.rms_norm(x.float(), (x.shape[-1],), None, eps).to(x.dtype)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


def common_prefix(prompts: Sequence[NDArray[np.int64]]) -> int:
    """Tokens that all prompts begin with, if they are worth it; each keeps one token of its own."""
    most = min(prompt.size for prompt in prompts) - 1
    if len(prompts) < 2 or most < WORTH:
        return 0
    rows = np.stack([prompt[:most] for prompt in prompts])
    same = (rows == rows[0]).all(axis=0)
    length = most if same.all() else int(same.argmin())
    return length if length >= WORTH else 0


class LeanDecoder:
    """Keys and values live in slots, one a row: [layers, 2, rows, kv heads, columns, head size].

    A row writes at its own position, so rows of different lengths share every operation.
    """

    def __init__(self, policy: Policy) -> None:
        config = policy.model.config
        self.policy = policy
        self.device = policy.device
        heads = config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        self.shape = Shape(heads, config.num_key_value_heads, size, config.rms_norm_eps)
        self.head: Head = policy.head
        self.refresh()
        self.start()

    takes_more = True

    def refresh(self) -> None:
        """Read the learner's weights again."""
        backbone: Any = self.policy.backbone
        self.embedding: Tensor = backbone.embed_tokens.weight.detach()
        self.layers = [_layer(block) for block in backbone.layers]
        self.norm: Tensor = backbone.norm.weight.detach()
        self.rotary: nn.Module = backbone.rotary_emb

    def start(self) -> None:
        """Forget all rows."""
        self.cache = self._slots(0, 0)
        self.lengths = torch.zeros(0, dtype=torch.long, device=self.device)

    def admit(self, prompts: Sequence[NDArray[np.int64]], copies: int) -> Float[Tensor, "p v"]:
        """Run each prompt once, give each `copies` rows behind the present ones.

        Returns the logits after each prompt, [prompts, vocabulary].
        """
        sizes = torch.tensor([p.size for p in prompts], device=self.device)
        width = int(sizes.max())
        ids = torch.zeros(len(prompts), width, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, : prompt.size] = torch.from_numpy(prompt)
        self._widen(width)
        fresh = self._slots(len(prompts), self.cache.shape[4])
        ids = ids.to(self.device)
        shared = common_prefix(prompts)
        if shared:  # worked examples, a system prompt: run once, seen by all
            once = self._slots(1, shared)
            self._prefill(ids[:1, :shared], 0, once)
            fresh[..., :shared, :] = once
        hidden = self._prefill(ids[:, shared:], shared, fresh)
        last = hidden[torch.arange(len(prompts), device=self.device), sizes - 1 - shared]
        self.cache = torch.cat([self.cache, fresh.repeat_interleave(copies, dim=2)], dim=2)
        self.lengths = torch.cat([self.lengths, sizes.repeat_interleave(copies)])
        return self.head(last)

    def step(self, tokens: Int[Tensor, " b"]) -> Float[Tensor, "b v"]:
        """Append one token to every row and return the logits after it."""
        x = self.embedding[tokens]
        self._widen(int(self.lengths.max()) + 1)
        cos, sin = self._angles(x[:, None], self.lengths[:, None])
        columns = torch.arange(self.cache.shape[4], device=self.device)
        unseen = (columns > self.lengths[:, None])[:, None, None]
        mask = torch.zeros(unseen.shape, device=self.device).masked_fill_(unseen, float("-inf"))
        rows = torch.arange(len(tokens), device=self.device)
        for number, layer in enumerate(self.layers):
            q, k, v = self._project(layer, x, cos[:, 0, None], sin[:, 0, None])
            keys, values = self.cache[number, 0], self.cache[number, 1]
            keys[rows, :, self.lengths] = k
            values[rows, :, self.lengths] = v
            x = self._finish(layer, x, self._attend(q, keys, values, mask))
        self.lengths = self.lengths + 1
        return self.head(_rms(x, self.norm, self.shape.eps))

    def keep(self, rows: Int[Tensor, " k"]) -> None:
        """Forget all rows but these."""
        self.cache = self.cache.index_select(2, rows)
        self.lengths = self.lengths[rows]

    def _widen(self, columns: int) -> None:
        """Room for at least `columns` tokens a row, in steps, so that slots stay contiguous."""
        short = columns - self.cache.shape[4]
        if short > 0:
            self.cache = functional.pad(self.cache, (0, 0, 0, short + -columns % STEP))

    def _slots(self, rows: int, columns: int) -> Tensor:
        shape = self.shape
        size = (len(self.layers), 2, rows, shape.kv_heads, columns, shape.head_size)
        return torch.zeros(size, dtype=self.embedding.dtype, device=self.device)

    def _angles(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        return self.rotary(x, positions)

    def _project(
        self, layer: Layer, x: Tensor, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [..., heads, head size] of x [..., hidden], rotated."""
        shape = self.shape
        fused = layer.qkv(_rms(x, layer.norm_in, shape.eps))
        fused = fused.unflatten(-1, (shape.heads + 2 * shape.kv_heads, shape.head_size))
        q, k, v = fused.split([shape.heads, shape.kv_heads, shape.kv_heads], dim=-2)
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = _rms(q, layer.q_norm, shape.eps), _rms(k, layer.k_norm, shape.eps)
        return _rotate(q, cos, sin), _rotate(k, cos, sin), v

    def _attend(self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """One query a row; the heads of one KV head stand in as query rows: no copy of the keys.

        Two products over whole, contiguous slots beat the fused kernel here by 2 to 4 times.
        """
        grouped = (q * self.shape.head_size**-0.5).unflatten(1, (self.shape.kv_heads, -1))
        scores = torch.matmul(grouped, keys.transpose(-1, -2)) + mask
        return torch.matmul(scores.softmax(-1).to(values.dtype), values).flatten(1)

    def _finish(self, layer: Layer, x: Tensor, seen: Tensor) -> Tensor:
        x = x + layer.out(seen)
        inner = layer.gate_up(_rms(x, layer.norm_post, self.shape.eps))
        gate, up = inner.chunk(2, dim=-1)
        return x + layer.down(functional.silu(gate) * up)

    def _prefill(self, ids: Tensor, start: int, cache: Tensor) -> Tensor:
        """The tokens [rows, width] behind the first `start` columns, which `cache` holds already.

        Padding stands on the right, where nothing sees it. Fills the cache.
        """
        end = start + ids.shape[1]
        columns = torch.arange(end, device=self.device)
        mask = columns <= columns[start:, None] if start else None
        x = self.embedding[ids]
        cos, sin = self._angles(x, columns[start:].expand(len(ids), -1))
        for number, layer in enumerate(self.layers):
            q, k, v = self._project(layer, x, cos[:, :, None], sin[:, :, None])
            cache[number, 0, :, :, start:end] = k.transpose(1, 2)
            cache[number, 1, :, :, start:end] = v.transpose(1, 2)
            seen = functional.scaled_dot_product_attention(
                q.transpose(1, 2),
                cache[number, 0, :, :, :end],
                cache[number, 1, :, :, :end],
                attn_mask=mask,
                is_causal=mask is None,
                enable_gqa=self.shape.heads != self.shape.kv_heads,
            )
            x = self._finish(layer, x, seen.transpose(1, 2).flatten(2))
        return _rms(x, self.norm, self.shape.eps)
