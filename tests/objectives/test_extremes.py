"""Loss, gradients and advantages at the edge of what floats hold; docs/numbers.md has the count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import jaxtyping
import numpy as np
import pytest
import torch

from evenodds.credit import CREDITS
from tests.objectives import extremes
from tests.objectives.extremes import NAMES, OBJECTIVES, amiss


@pytest.fixture(scope="module", autouse=True)
def unchecked_shapes() -> Iterator[None]:
    """They are checked by all other tests: here it costs two thirds of the time."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def test_all_is_finite_and_centred() -> None:
    found = {(name, seed): amiss(name, seed) for name in NAMES for seed in range(8)}
    assert not {case: what for case, what in found.items() if what}


def test_the_check_can_fail(monkeypatch) -> None:
    """A surrogate that masks behind exp has a finite loss and a gradient that is none."""

    def behind(log_ratio, tokens):
        ratio = log_ratio.exp()
        return torch.where(ratio < 10, ratio, torch.zeros_like(ratio)) * tokens.advantages

    broken = OBJECTIVES | {NAMES[0]: replace(OBJECTIVES["grpo"], surrogate=behind)}
    monkeypatch.setattr(extremes, "OBJECTIVES", broken)
    found = [what for seed in range(40) for what in amiss(NAMES[0], seed)]
    assert "gradient" in found and not any(what.startswith("loss") for what in found)


@pytest.mark.parametrize("name", sorted(CREDITS.keys() - {"raw"}))
@pytest.mark.parametrize("base", [1e9, -1e9, 3e14])
def test_large_rewards_that_hardly_differ_are_centred(name, base) -> None:
    """They were off by 0.1: the mean of 1e9 and 1e9 + 1e-5 is not a number that floats hold."""
    rewards = base + np.array([0.0, 1e-5 * abs(base) / 1e9, 0.0, 2e-5 * abs(base) / 1e9, 0.0])
    advantage = CREDITS[name](rewards)
    assert advantage.any()
    assert abs(advantage.sum()) < 1e-9 * np.abs(advantage).max()
