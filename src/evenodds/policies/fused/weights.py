"""What a model of the family is made of, read from its own modules.

Layers that read the same input are one matrix here. It is no copy: the modules' parameters become
views of it, so whatever changes them, an optimizer or a checkpoint, changes both. Low-rank products
of LoRA stay products. The base is never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn


@dataclass
class Projection:
    """One or several linear layers that read the same input, as one: y = x W' + b + (x low') high'.

    weight: [out, in]; the modules' own weights are views of its rows. low [rank, in] and high
    [out, rank]: the scaled factors of LoRA in the type of the weight, side by side, None without
    LoRA. Added into bfloat16 weights, changes below their rounding step would be lost.
    """

    modules: tuple[Any, ...]
    weight: Tensor = field(init=False, repr=False)
    bias: Tensor | None = field(init=False, repr=False)
    low: Tensor | None = field(init=False, default=None, repr=False)
    high: Tensor | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        self.refresh()

    @property
    def bases(self) -> list[Any]:
        return [getattr(module, "base_layer", module) for module in self.modules]

    def refresh(self) -> None:
        """Read the modules again: their factors, and their weights should they have moved."""
        self.weight = _joined([base.weight for base in self.bases])
        biases = [base.bias for base in self.bases]
        self.bias = None if biases[0] is None else _joined(biases)
        found = [adapter_of(module) for module in self.modules]
        if all(pair is None for pair in found):
            self.low = self.high = None
            return
        pairs = [pair or _no_factors(base) for pair, base in zip(found, self.bases, strict=True)]
        self.low = torch.cat([low.detach() for low, _, _ in pairs]).to(self.weight.dtype)
        high = torch.block_diag(*[high.detach() * scale for _, high, scale in pairs])
        self.high = high.to(self.weight.dtype)


def adapter_of(module: Any) -> tuple[nn.Parameter, nn.Parameter, float] | None:
    """A [rank, in], B [out, rank] and the scale of the active adapter; None if there is none."""
    if getattr(module, "disable_adapters", False) or getattr(module, "merged", False):
        return None
    for name in getattr(module, "active_adapters", ()):
        if name in module.lora_A:
            return module.lora_A[name].weight, module.lora_B[name].weight, module.scaling[name]
    return None


def _no_factors(base: Any) -> tuple[Tensor, Tensor, float]:
    out, inner = base.weight.shape
    return base.weight.new_zeros(0, inner).float(), base.weight.new_zeros(out, 0).float(), 1.0


def _is_one(tensors: Sequence[Tensor]) -> bool:
    """Whether the tensors lie one behind the other in one piece of memory."""
    first = tensors[0]
    at = first.data_ptr()
    for tensor in tensors:
        same = tensor.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        if not same or tensor.data_ptr() != at or not tensor.is_contiguous():
            return False
        at += tensor.numel() * tensor.element_size()
    return True


def _joined(parameters: Sequence[nn.Parameter]) -> Tensor:
    """The parameters as one tensor along the first axis, of which they are views from now on."""
    if len(parameters) == 1:
        return parameters[0].detach()
    if not _is_one(parameters):
        whole = torch.cat([parameter.detach() for parameter in parameters])
        parts = whole.split([len(parameter) for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.data = part
    first = parameters[0].detach()
    size = (sum(len(parameter) for parameter in parameters), *first.shape[1:])
    return first.as_strided(size, first.stride())


@dataclass(frozen=True)
class Layer:
    """One block; q, k, v are one projection, gate and up another. Norms are the live parameters."""

    norm_in: nn.Parameter
    qkv: Projection
    q_norm: nn.Parameter | None
    k_norm: nn.Parameter | None
    out: Projection
    norm_post: nn.Parameter
    gate_up: Projection
    down: Projection

    @property
    def projections(self) -> tuple[Projection, ...]:
        return self.qkv, self.out, self.gate_up, self.down

    def heads_norm(self, shape: Shape) -> Tensor | None:
        """[heads + kv heads, head size]: the norms of queries and keys as one, with gradients to
        both; None for a family that has none."""
        if self.q_norm is None or self.k_norm is None:
            return None
        return torch.cat(
            (self.q_norm.expand(shape.heads, -1), self.k_norm.expand(shape.kv_heads, -1))
        )


@dataclass(frozen=True)
class Shape:
    """Heads and widths; eps of the norms."""

    heads: int
    kv_heads: int
    head_size: int
    eps: float

    @property
    def turned(self) -> int:
        """Heads that are normed and rotated: those of queries and of keys, which come first."""
        return self.heads + self.kv_heads

    @property
    def every(self) -> int:
        """Heads of queries, keys and values."""
        return self.heads + 2 * self.kv_heads

    @property
    def scale(self) -> float:
        """What queries are multiplied with, so that scores do not grow with the head size."""
        return self.head_size**-0.5

    @classmethod
    def of(cls, config: Any) -> Shape:
        heads = config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        return cls(heads, config.num_key_value_heads, size, config.rms_norm_eps)


@dataclass(frozen=True)
class Fused:
    """The model below its output head. embedding [vocabulary, hidden]; rotary gives cos and sin.

    padding: the token whose embedding the modules never change, if there is one.
    """

    shape: Shape
    embedding: nn.Parameter
    layers: tuple[Layer, ...]
    norm: nn.Parameter
    rotary: nn.Module
    padding: int | None = None

    def angles(self, positions: Int[Tensor, " t"]) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the rotary embedding, [t, head size] each, for `rotate`.

        The sines have the sign of their first half turned, so that the halves of what is rotated
        need only change places.
        """
        cos, sin = self.rotary(self.embedding, positions[None])
        half = self.shape.head_size // 2
        return cos[0], torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)

    def refresh(self) -> None:
        """Read the learner's weights again."""
        for layer in self.layers:
            for projection in layer.projections:
                projection.refresh()


def read(backbone: Any, config: Any) -> Fused:
    """A view of the modules below the output head, for a model that `supports` accepts."""
    layers = tuple(_layer(block) for block in backbone.layers)
    return Fused(
        Shape.of(config),
        backbone.embed_tokens.weight,
        layers,
        backbone.norm.weight,
        backbone.rotary_emb,
        getattr(backbone.embed_tokens, "padding_idx", None),
    )


def _norm_weight(module: Any, name: str) -> nn.Parameter | None:
    norm = getattr(module, name, None)
    return None if norm is None else norm.weight


def _layer(block: Any) -> Layer:
    attention, mlp = block.self_attn, block.mlp
    return Layer(
        norm_in=block.input_layernorm.weight,
        qkv=Projection((attention.q_proj, attention.k_proj, attention.v_proj)),
        q_norm=_norm_weight(attention, "q_norm"),
        k_norm=_norm_weight(attention, "k_norm"),
        out=Projection((attention.o_proj,)),
        norm_post=block.post_attention_layernorm.weight,
        gate_up=Projection((mlp.gate_proj, mlp.up_proj)),
        down=Projection((mlp.down_proj,)),
    )
