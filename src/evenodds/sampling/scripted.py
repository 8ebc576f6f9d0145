"""The public fake: answers that a script gives, so that all else can be tested without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenodds.domain import Limits, Prompt, Rollout, Stop, rollout_seed
from evenodds.sampling import Finished

Script = Callable[[Prompt, np.random.Generator], str]


@dataclass
class ScriptedSampler:
    """`script(prompt, rng)` writes each completion; a character is a token, its code the id."""

    script: Script
    version: int = 0
    loaded: list[int] = field(default_factory=list)

    def sample(
        self,
        prompts: Sequence[Prompt],
        group_size: int,
        limits: Limits,
        seed: int,
        finished: Finished | None = None,
    ) -> list[list[Rollout]]:
        groups: list[list[Rollout]] = []
        for p, prompt in enumerate(prompts):
            seeds = [rollout_seed(seed, p, g) for g in range(group_size)]
            groups.append([self._one(prompt, limits, seed) for seed in seeds])
            if finished is not None:
                finished(p, groups[p])
        return groups

    def load(self, weights: Any, version: int) -> None:
        self.version = version
        self.loaded.append(version)

    def _one(self, prompt: Prompt, limits: Limits, seed: int) -> Rollout:
        text = self.script(prompt, np.random.default_rng(seed))
        cut = text[: limits.max_tokens]
        shown = prompt if isinstance(prompt, str) else "".join(m["content"] for m in prompt)
        return Rollout(
            prompt_ids=np.array([ord(c) for c in shown], dtype=np.int64),
            ids=np.array([ord(c) for c in cut], dtype=np.int64),
            logprobs=np.zeros(len(cut), dtype=np.float32),
            stop=Stop.BUDGET if len(text) > len(cut) else Stop.END_TOKEN,
            text=cut,
            version=self.version,
            seed=seed,
            limits=limits,
            prompt_tail=shown[-64:],
        )
