"""Engines that turn prompts into rollouts. Each keeps the `Sampler` protocol and its contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from evenodds.domain import Limits, Prompt, Rollout

Progress = Callable[[int, int], None]  # rollouts finished, rollouts wanted
Finished = Callable[[int, list[Rollout]], None]  # the index of a prompt, its rollouts in order


class Sampler(Protocol):
    """Prompts in, `group_size` rollouts for each out, in order."""

    def sample(
        self,
        prompts: Sequence[Prompt],
        group_size: int,
        limits: Limits,
        seed: int,
        finished: Finished | None = None,
    ) -> list[list[Rollout]]:
        """Draw from the loaded weights. The same seed and weights give the same rollouts.

        finished: called once a prompt, as soon as its last answer is there.
        """
        ...

    def load(self, weights: Any, version: int) -> None:
        """Sample from these weights from now on; rollouts carry `version`."""
        ...
