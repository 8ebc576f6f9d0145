"""A lean decoder for the Llama / Qwen2 / Qwen3 family: few operations a token, fixed KV slots.

At small sizes the count of operations is the cost, so projections are fused and everything that
does not depend on the token is prepared once. Weights are read from the learner's own modules;
with LoRA the product is added into a copy, and the base is never written.
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


@dataclass(frozen=True)
class Layer:
    """Weights of one block; q, k, v are one matrix, gate and up another."""

    norm_in: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    out: Tensor
    out_bias: Tensor | None
    norm_post: Tensor
    gate_up: Tensor
    down: Tensor


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


def _weight(module: Any) -> Tensor:
    """The effective weight of a linear layer: with LoRA a new tensor, base + scale · B A."""
    base = getattr(module, "base_layer", module)
    weight: Tensor = base.weight.detach()
    for name in getattr(module, "active_adapters", ()):
        if name in module.lora_A:
            delta = module.get_delta_weight(name)
            weight = (weight.float() + delta.detach().float()).to(weight.dtype)
    return weight


def _bias(*modules: Any) -> Tensor | None:
    biases = [getattr(module, "base_layer", module).bias for module in modules]
    return None if biases[0] is None else torch.cat([bias.detach() for bias in biases])


def _norm_weight(module: Any, name: str) -> Tensor | None:
    norm = getattr(module, name, None)
    return None if norm is None else norm.weight.detach()


def _layer(block: Any) -> Layer:
    attention, mlp = block.self_attn, block.mlp
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    return Layer(
        norm_in=block.input_layernorm.weight.detach(),
        qkv=torch.cat([_weight(p) for p in projections]),
        qkv_bias=_bias(*projections),
        q_norm=_norm_weight(attention, "q_norm"),
        k_norm=_norm_weight(attention, "k_norm"),
        out=_weight(attention.o_proj),
        out_bias=_bias(attention.o_proj),
        norm_post=block.post_attention_layernorm.weight.detach(),
        gate_up=torch.cat([_weight(mlp.gate_proj), _weight(mlp.up_proj)]),
        down=_weight(mlp.down_proj),
    )


def _rms(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    if x.dtype == torch.float32:
        return functional.rms_norm(x, (x.shape[-1],), weight, eps)
    return weight * functional.rms_norm(x.float(), (x.shape[-1],), None, eps).to(x.dtype)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


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
        positions = torch.arange(width, device=self.device).expand(len(prompts), -1)
        hidden = self._prefill(ids.to(self.device), positions, fresh)
        last = hidden[torch.arange(len(prompts), device=self.device), sizes - 1]
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
        fused = functional.linear(_rms(x, layer.norm_in, shape.eps), layer.qkv, layer.qkv_bias)
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
        x = x + functional.linear(seen, layer.out, layer.out_bias)
        inner = functional.linear(_rms(x, layer.norm_post, self.shape.eps), layer.gate_up)
        gate, up = inner.chunk(2, dim=-1)
        return x + functional.linear(functional.silu(gate) * up, layer.down)

    def _prefill(self, ids: Tensor, positions: Tensor, cache: Tensor) -> Tensor:
        """All prompt tokens at once, padded on the right, where nothing sees it; fills `cache`."""
        x = self.embedding[ids]
        cos, sin = self._angles(x, positions)
        for number, layer in enumerate(self.layers):
            q, k, v = self._project(layer, x, cos[:, :, None], sin[:, :, None])
            cache[number, 0, :, :, : ids.shape[1]] = k.transpose(1, 2)
            cache[number, 1, :, :, : ids.shape[1]] = v.transpose(1, 2)
            seen = functional.scaled_dot_product_attention(
                q.transpose(1, 2),
                k.transpose(1, 2),
                v.transpose(1, 2),
                is_causal=True,
                enable_gqa=self.shape.heads != self.shape.kv_heads,
            )
            x = self._finish(layer, x, seen.transpose(1, 2).flatten(2))
        return _rms(x, self.norm, self.shape.eps)
