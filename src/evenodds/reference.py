"""The policy that training started from, kept to measure how far the trained one went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch

from evenodds.batch import Answer, Batch, PromptAnswers
from evenodds.domain import Extent, Group
from evenodds.learner import Trainable, ask, asked, by_answer


class Reference(Protocol):
    """Whatever knows the log-probabilities of answers under the reference policy."""

    def annotate(self, groups: Sequence[Group]) -> list[Group]:
        """The groups with `reference_logprobs` in every rollout."""
        ...


class TorchReference:
    """A frozen copy of `policy`, asked for as many cells at once as `micro_batch_tokens`."""

    def __init__(self, policy: Trainable, micro_batch_tokens: int = 2048) -> None:
        self.policy, self.micro_batch_tokens = policy.frozen(), micro_batch_tokens

    @torch.no_grad()
    def annotate(self, groups: Sequence[Group]) -> list[Group]:
        batch = _everything(groups)
        micros = list(asked(self.policy, batch, self.micro_batch_tokens))
        logprobs = [ask(self.policy, micro, batch.temperature)[0] for micro in micros]
        return _annotated(groups, by_answer(micros, logprobs))


def _everything(groups: Sequence[Group]) -> Batch:
    """Every answer that has tokens, judged or not."""
    prompts: list[PromptAnswers] = []
    index = 0
    for group in groups:
        rows = [
            Answer(index + place, rollout.ids, rollout.logprobs, 0.0)
            for place, rollout in enumerate(group.rollouts)
            if rollout.ids.size
        ]
        index += len(group.rollouts)
        if rows:
            prompts.append(PromptAnswers(group.rollouts[0].prompt_ids, tuple(rows)))
    return Batch(tuple(prompts), Extent(0, 0, 0), groups[0].rollouts[0].limits.temperature)


def _annotated(groups: Sequence[Group], found: dict[int, np.ndarray]) -> list[Group]:
    empty = np.zeros(0, dtype=np.float32)
    result: list[Group] = []
    index = 0
    for group in groups:
        rollouts = [
            replace(rollout, reference_logprobs=found.get(index + place, empty))
            for place, rollout in enumerate(group.rollouts)
        ]
        index += len(rollouts)
        result.append(Group(group.problem, rollouts, group.verdicts))
    return result
