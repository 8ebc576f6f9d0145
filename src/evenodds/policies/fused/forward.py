"""The forward pass that a policy learns from: flat tokens, fused projections, few operations."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from evenodds.batch import Packed
from evenodds.policies.fused.attention import Arrangement, arrange, attend
from evenodds.policies.fused.autograd import gate, project, rms
from evenodds.policies.fused.weights import Fused, Layer, Shape


def hidden_states(model: Fused, packed: Packed, checkpoints: bool = False) -> Float[Tensor, "n h"]:
    """Normed states behind which each answer token was drawn, with gradients to what learns.

    checkpoints: keep only the input of each layer and compute the layer again in the backward pass.
    """
    at = arrange(model, packed)
    x = functional.embedding(packed.input_ids, model.embedding, model.padding)
    for layer in model.layers:
        if checkpoints and torch.is_grad_enabled():
            found: Any = checkpoint(_block, layer, x, at, use_reentrant=False)
            x = found
        else:
            x = _block(layer, x, at)
    return rms(x.index_select(0, packed.at), model.norm, model.shape.eps)


def _block(layer: Layer, x: Float[Tensor, "t h"], at: Arrangement) -> Float[Tensor, "t h"]:
    eps = at.shape.eps
    fused = project(rms(x, layer.norm_in, eps), layer.qkv).unflatten(-1, (-1, at.shape.head_size))
    x = project(attend(_normed(layer, fused, at.shape), at), layer.out).add_(x)
    inner = project(rms(x, layer.norm_post, eps), layer.gate_up)
    return project(gate(inner), layer.down).add_(x)


def _normed(layer: Layer, fused: Tensor, shape: Shape) -> Tensor:
    """Queries and keys normed head by head, where the family does that."""
    weight = layer.heads_norm(shape)
    if weight is None:
        return fused
    q_k, v = fused[:, : shape.turned], fused[:, shape.turned :]
    return torch.cat((rms(q_k, weight, shape.eps), v), dim=1)
