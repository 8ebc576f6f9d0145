"""What a block computes, without gradients. `sampling/fused.py` decodes with these."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional


def inverse_rms(x: Float[Tensor, "... h"], eps: float) -> Float[Tensor, "... 1"]:
    """1 over the root mean square, in float32. One pass; the library's takes five."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
    return torch.addcmul(norm.new_full((), eps), norm, norm, value=1 / x.shape[-1]).rsqrt_()


def scaled(x: Float[Tensor, "... h"], scale: Float[Tensor, "... 1"], weight: Tensor) -> Tensor:
    """x times its scale, rounded to the type of x, times the weight [h] or [heads, h]."""
    return (x * scale).to(x.dtype).mul_(weight)


def rms(x: Float[Tensor, "... h"], weight: Tensor, eps: float) -> Float[Tensor, "... h"]:
    """x over its root mean square (Zhang and Sennrich 2019), times the weight [h] or [heads, h]."""
    return scaled(x, inverse_rms(x, eps), weight)


def rotate(x: Float[Tensor, "... d"], cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding (Su et al. 2021) in the halves layout of Hugging Face.

    cos, sin: as `Fused.angles` gives them, [..., d] for each token, the same for all its heads.
    """
    half = x.shape[-1] // 2
    turned = torch.cat((x[..., half:], x[..., :half]), dim=-1)
    return torch.addcmul(turned.mul_(sin), x, cos)


def gated(inner: Float[Tensor, "... 2*i"]) -> Tensor:
    """silu(gate) * up of a fused projection."""
    half = inner.shape[-1] // 2
    return functional.silu(inner.narrow(-1, 0, half)).mul_(inner.narrow(-1, half, half))
