"""What decides the bits of torch, where it has been imported: nothing here imports it first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.undisturbed.part import Part

if TYPE_CHECKING:
    import torch

PRECISIONS = tuple(
    f"{place}fp32_precision"
    for place in (
        *("", "cuda.matmul.", "cudnn.", "cudnn.conv.", "cudnn.rnn."),
        *("mkldnn.", "mkldnn.matmul.", "mkldnn.conv.", "mkldnn.rnn."),
    )
)
"""What torch.backends says of precision, the more general of them first: it stands for others."""

KERNELS = tuple(
    (f"{name}_sdp_enabled", f"enable_{name}_sdp")
    for name in ("flash", "mem_efficient", "math", "cudnn")
)
"""Kinds of attention: how torch.backends.cuda reads and sets them, for a CPU as well."""

OF_CUDNN = ("enabled", "benchmark", "deterministic")

_entered: list[Any] = []


def parts() -> Sequence[Part]:
    # torch half imported by another thread has no functions yet
    is_there = hasattr(sys.modules.get("torch"), "set_flush_denormal")
    return _parts() if is_there else ()


@cache
def _parts() -> Sequence[Part]:
    import torch

    return [
        Part("torch's gradients", torch.is_grad_enabled, torch.set_grad_enabled),
        Part("torch's default type", torch.get_default_dtype, torch.set_default_dtype),
        Part("torch's default device", torch.get_default_device, _set_device),
        Part("torch's threads", torch.get_num_threads, torch.set_num_threads),
        Part("torch's autocast", _autocast, _set_autocast),
        Part("torch's inference mode", torch.is_inference_mode_enabled, _set_inference),
        Part("torch's deterministic algorithms", _deterministic, _set_deterministic),
        Part("torch's precision of products", _precisions, _set_precisions),
        Part("torch's kernels", _kernels, _set_kernels),
        Part("torch's anomaly mode", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
        Part(
            "torch's use of oneDNN",
            lambda: torch.backends.mkldnn.enabled,
            torch.backends.mkldnn.set_flags,
        ),
        Part("numbers next to 0", _flushes, torch.set_flush_denormal),
    ]


def _set_device(to: torch.device) -> None:
    import torch

    # the cpu by its name would be a mode around every call from now on
    torch.set_default_device(None if to.type == "cpu" else to)


def _autocast() -> tuple[bool, bool]:
    import torch

    return torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")


def _set_autocast(to: tuple[bool, bool]) -> None:
    import torch

    torch.set_autocast_enabled("cpu", to[0])
    torch.set_autocast_enabled("cuda", to[1])


def _set_inference(to: bool) -> None:
    import torch

    mode = torch.inference_mode(to)
    mode.__enter__()
    _entered.append(mode)  # it would end with its object


def _deterministic() -> tuple[bool, bool]:
    import torch

    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def _set_deterministic(to: tuple[bool, bool]) -> None:
    import torch

    torch.use_deterministic_algorithms(to[0], warn_only=to[1])


def _precisions() -> tuple[str | None, ...]:
    """By its old name and by the new ones; of the old name torch says nothing once they differ."""
    import torch

    old = None
    with suppress(RuntimeError):
        old = torch.get_float32_matmul_precision()
    return (old, *(attrgetter(name)(torch.backends) for name in PRECISIONS))


def _set_precisions(values: Sequence[str | None]) -> None:
    import torch

    if values[0] is not None:
        torch.set_float32_matmul_precision(values[0])  # which sets new ones too
    for name, value in zip(PRECISIONS, values[1:], strict=True):
        place, _, attribute = f"backends.{name}".rpartition(".")
        owner = attrgetter(place)(torch)
        if getattr(owner, attribute) != value:
            setattr(owner, attribute, value)


def _kernels() -> tuple[bool, ...]:
    from torch.backends import cuda, cudnn

    found = [getattr(cuda, read)() for read, _ in KERNELS]
    return (*found, *(getattr(cudnn, name) for name in OF_CUDNN))


def _set_kernels(values: Sequence[bool]) -> None:
    from torch.backends import cuda, cudnn

    for (_, write), value in zip(KERNELS, values, strict=False):
        getattr(cuda, write)(value)
    for name, value in zip(OF_CUDNN, values[len(KERNELS) :], strict=True):
        setattr(cudnn, name, value)


def _flushes() -> bool:
    """Whether the smallest numbers count as 0 in this thread, of which nothing else tells."""
    return bool(np.float32(1e-45) * np.float32(1) == 0)
