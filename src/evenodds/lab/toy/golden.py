"""A base in a small file, so that a test need not make it again."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from evenodds.lab.toy.experiment import Base
from evenodds.lab.toy.gru import GruPolicy
from evenodds.lab.toy.problems import Sums, split
from evenodds.lab.toy.settings import Profile


def save_base(base: Base, path: Path) -> None:
    """The weights, in half precision: a hundred thousand bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({n: p.detach().half() for n, p in base.policy.trainable().items()}, path)


def load_base(path: Path, size: Profile, seed: int) -> Base:
    """The base that `make_base` with this profile and seed made, rounded to half precision."""
    policy = GruPolicy.of(size.books.width, seed)
    with torch.no_grad():
        for name, value in load_file(path).items():
            policy.trainable()[name].copy_(value)
    return Base(policy, Sums(*split(size.held_out, seed)))
