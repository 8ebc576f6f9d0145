"""A few short answers, and their log-probabilities by every way there is to compute them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from evenodds.batch import Answer, Batch, MicroBatch, PromptAnswers, lay_out
from evenodds.domain import Extent, Limits, Problem, Rollout
from evenodds.learner import ask, asked, by_answer

if TYPE_CHECKING:
    from evenodds.policies import Policy
    from evenodds.run.build import Plan
    from evenodds.sampling.native import NativeSampler

PROMPTS, ANSWERS, TOKENS = 3, 2, 12
SEED = 0xD0C  # of what the preflight asks and draws: neither training nor evaluation has it
ALL = 2**30  # tokens of a micro-batch into which everything goes

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """Answers to prompts of several levels, and so of several lengths. temperature: of training."""

    problems: tuple[Problem, ...]
    groups: tuple[tuple[Rollout, ...], ...]
    temperature: float

    @property
    def rollouts(self) -> list[Rollout]:
        return [rollout for group in self.groups for rollout in group]

    @property
    def recorded(self) -> Values:
        """[tokens] log-probabilities that the sampler wrote down, answer after answer."""
        return np.concatenate([r.logprobs for r in self.rollouts]).astype(np.float64)


def problems_of(plan: Plan, count: int) -> list[Problem]:
    """The first held-out problems of levels from the easiest to the hardest."""
    task = plan.task
    levels = np.linspace(0, len(task.levels) - 1, count).round().astype(int).tolist()
    held_out = [task.held_out(level) for level in levels]
    return [rows[place % len(rows)] for place, rows in enumerate(held_out) if rows]


def draw_trial(plan: Plan, sampler: NativeSampler, seed: int = SEED) -> Trial:
    """Answers at the temperature of training, without stop strings."""
    sampling = plan.config.sampling
    problems = problems_of(plan, PROMPTS)
    limits = Limits(min(TOKENS, sampling.max_tokens), sampling.temperature)
    groups = sampler.sample([p.prompt for p in problems], ANSWERS, limits, seed)
    return Trial(tuple(problems), tuple(map(tuple, groups)), sampling.temperature)


def _batch(trial: Trial) -> Batch:
    prompts: list[PromptAnswers] = []
    index = 0
    for group in trial.groups:
        answers = [Answer(index + n, r.ids, r.logprobs, 0.0) for n, r in enumerate(group)]
        index += len(group)
        prompts.append(PromptAnswers(group[0].prompt_ids, tuple(answers)))
    return Batch(tuple(prompts), Extent(0, 0, 0), trial.temperature)


def _asked(policy: Policy, trial: Trial, micros: Sequence[MicroBatch]) -> Values:
    """[tokens] in the trial's order, whatever the order of the micro-batches."""
    found = by_answer(micros, [ask(policy, m, trial.temperature)[0] for m in micros])
    return np.concatenate([found[n] for n in range(len(trial.rollouts))]).astype(np.float64)


@torch.no_grad()
def by_learner(policy: Policy, trial: Trial, budget: int = ALL) -> Values:
    """As the learner asks for them: packed where the policy can, else padded."""
    return _asked(policy, trial, list(asked(policy, _batch(trial), budget)))


@torch.no_grad()
def padded(policy: Policy, trial: Trial, budget: int = ALL) -> Values:
    """In rows padded to the longest. With a budget of 1 each row is alone, without padding."""
    micros = lay_out(
        _batch(trial), budget, pad_id=policy.codec.pad_id, device=policy.device, can_share=False
    )
    return _asked(policy, trial, list(micros))


@torch.no_grad()
def by_model(policy: Policy, trial: Trial) -> Values:
    """A plain softmax of the model's own logits, a row at a time: no cache, padding or packing."""
    found: list[NDArray[np.float32]] = []
    for rollout in trial.rollouts:
        row = torch.from_numpy(np.concatenate([rollout.prompt_ids, rollout.ids])).to(policy.device)
        logits = policy.model(input_ids=row[None]).logits[0, rollout.prompt_ids.size - 1 : -1]
        logprobs = (logits.float() / trial.temperature).log_softmax(-1)
        targets = row[rollout.prompt_ids.size :, None]
        found.append(logprobs.gather(-1, targets)[:, 0].cpu().numpy())
    return np.concatenate(found).astype(np.float64)


@dataclass(frozen=True)
class Corners:
    """One answer each to the shortest and to the longest prompt: padding at its largest.

    alone: by the model itself, a row at a time. learned: as the learner asks for them.
    """

    trial: Trial
    alone: Values
    learned: Values


def corners_of(policy: Policy, trial: Trial) -> Corners:
    order = sorted(trial.groups, key=lambda group: group[0].prompt_ids.size)
    two = replace(trial, groups=tuple(group[:1] for group in (order[0], order[-1])))
    return Corners(two, by_model(policy, two), by_learner(policy, two))


@dataclass(frozen=True)
class Gap:
    """How far two ways to compute the same log-probabilities are apart, in nats."""

    mean: float
    most: float

    @classmethod
    def between(cls, one: Values, other: Values) -> Gap:
        apart = np.abs(one - other)
        return cls(float(apart.mean()), float(apart.max()))

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite([self.mean, self.most]).all())

    def __str__(self) -> str:
        return f"{self.most:.2g} nats at most, {self.mean:.2g} in the mean"


EXACT, WRONG = 1e-4, 1e-3  # nats at most of float32: what depth leaves, and what it cannot explain
ROUGH, ROUGH_WRONG = 0.1, 0.3  # the same in the mean, of shorter types


def judged(gap: Gap, exact: bool) -> Literal["fine", "warning", "fatal"]:
    """What a gap means. Of shorter types the mean counts: single unlikely tokens are far off."""
    value, bounds = (gap.most, (EXACT, WRONG)) if exact else (gap.mean, (ROUGH, ROUGH_WRONG))
    if not gap.is_finite or value > bounds[1]:
        return "fatal"
    return "warning" if value > bounds[0] else "fine"


def is_exact(policy: Policy) -> bool:
    return policy.model.dtype == torch.float32 and policy.device.type == "cpu"
