"""Numbers that must be the same however they are computed, measured on tiny policies.

Gradients however a batch is cut, log-probabilities of sampler and learner, and the frozen weights
below an adapter, which nothing may write.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evenodds.batch import Batch, collate
from evenodds.domain import Group, Limits, Problem, Status, Verdict
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import Objective, make_objective
from evenodds.policies import Policy
from evenodds.sampling.native import NativeSampler
from tests.tiny import make_lora, make_policy

PROMPTS = ["12*34=", "7*8=", "123*4567=", "99*1="]


def bf16(policy: Policy) -> Policy:
    policy.model.to(torch.bfloat16)
    return policy


FAMILIES: dict[str, Callable[[], Policy]] = {
    "qwen3": lambda: make_policy("qwen3"),
    "qwen2": lambda: make_policy("qwen2"),
    "llama, tied": lambda: make_policy("llama", tie_word_embeddings=True),
    "gpt2": lambda: make_policy("gpt2"),
    "gemma2": lambda: make_policy("gemma2", sliding_window=4),
    "qwen3, LoRA": lambda: make_lora(make_policy("qwen3")),
    "llama, LoRA": lambda: make_lora(make_policy("llama")),
    "gpt2, LoRA": lambda: make_lora(make_policy("gpt2")),
}
CUTS = (1, 40, 90, 200, 10_000)  # tokens of a micro-batch: from one answer each to all at once
OBJECTIVE = make_objective("grpo", mask_truncated=False)


def groups_of(
    policy: Policy, seed: int = 0, size: int = 4, limits: Limits | None = None
) -> list[Group]:
    """Real rollouts, every other one paid."""
    drawn = NativeSampler(policy).sample(PROMPTS, size, limits or Limits(16), seed)
    sides = (Status.WRONG, Status.RIGHT)
    return [
        Group(
            Problem(prompt, prompt, "1", "t"),
            rollouts,
            [Verdict(float(i % 2), sides[i % 2]) for i, _ in enumerate(rollouts)],
        )
        for prompt, rollouts in zip(PROMPTS, drawn, strict=True)
    ]


def gradient(policy: Policy, batch: Batch, objective: Objective, **options: Any) -> torch.Tensor:
    """All gradients of one batch as one vector, in float64."""
    learner = TorchLearner(policy, LearnerOptions(**options))
    learner.optimizer.zero_grad()
    learner._backward(batch, objective)
    found = [p.grad for p in policy.trainable().values() if p.grad is not None]
    return torch.cat([grad.double().flatten() for grad in found])


def gradient_gaps(name: str) -> Iterator[tuple[str, float]]:
    """How far gradients are from those of the whole batch at once, by its norm; off-policy."""
    make = FAMILIES[name]
    groups = groups_of(make_policy("gpt2" if "gpt2" in name else "qwen3", seed=5))
    batch = collate(groups, OBJECTIVE)
    whole = gradient(make(), batch, OBJECTIVE, micro_batch_tokens=10_000)

    def gap(found: torch.Tensor) -> float:
        return float((found - whole).norm() / whole.norm())

    for cut in CUTS[:-1]:
        yield f"{cut} tokens", gap(gradient(make(), batch, OBJECTIVE, micro_batch_tokens=cut))
    turned = collate(groups[::-1], OBJECTIVE)
    yield "groups turned", gap(gradient(make(), turned, OBJECTIVE, micro_batch_tokens=90))
    saved = {"gradient_checkpointing": True, "micro_batch_tokens": 90}
    yield "checkpointing", gap(gradient(make(), batch, OBJECTIVE, **saved))
    padded = make()
    padded.use_modules()
    yield "padded rows", gap(gradient(padded, batch, OBJECTIVE, micro_batch_tokens=90))


@dataclass(frozen=True)
class Agreement:
    """Sampler against learner: nats apart at most and on average; how far the ratio is from 1."""

    most: float
    mean: float
    ratio: float


def first_passes(policy: Policy, updates: int = 3) -> list[Agreement]:
    """Of the first pass of each update in a row: fresh, behind one update, behind two."""
    options = LearnerOptions(learning_rate=1e-2, warmup_steps=0, micro_batch_tokens=90)
    learner, sampler = TorchLearner(policy, options), NativeSampler(policy)
    found = []
    for seed in range(updates):
        drawn = sampler.sample(PROMPTS, 4, Limits(16), seed)
        groups = [
            Group(g.problem, rollouts, g.verdicts)
            for g, rollouts in zip(groups_of(policy, seed), drawn, strict=True)
        ]
        metrics = learner.update(collate(groups, OBJECTIVE), OBJECTIVE).metrics
        sampler.load(learner.weights(), seed + 1)
        gap = "sampling/sampling_logp_difference"
        far = max(metrics["ratio/max"] - 1, 1 - metrics["ratio/min"])
        found.append(Agreement(metrics[f"{gap}/max"], metrics[f"{gap}/mean"], far))
    return found


def sha256_of(tensors: dict[str, torch.Tensor]) -> dict[str, str]:
    """SHA-256 of the bytes of each tensor."""
    found: dict[str, str] = {}
    for name, tensor in tensors.items():
        raw = tensor.detach().contiguous().view(torch.uint8).numpy().tobytes()
        found[name] = hashlib.sha256(raw).hexdigest()
    return found


def frozen(policy: Policy) -> dict[str, torch.Tensor]:
    """All parameters that do not learn, and buffers."""
    learns = policy.trainable()
    named = {n: p for n, p in policy.model.named_parameters() if n not in learns}
    return named | {f"buffer {n}": b for n, b in policy.model.named_buffers()}


@dataclass(frozen=True)
class Synced:
    """tensors: of the base. changed: those whose SHA-256 is another. moved: the adapter learned."""

    tensors: int
    changed: list[str]
    moved: bool


def synced(policy: Policy, times: int, sample_every: int = 20, save_every: int = 100) -> Synced:
    """The base below an adapter behind so many updates, each given to the sampler.

    On the way answers are sampled from it, adapters are saved and loaded again.
    """
    from evenodds.run.checkpoint import load_weights

    before, learns = sha256_of(frozen(policy)), sha256_of(dict(policy.trainable()))
    learner = TorchLearner(policy, LearnerOptions(learning_rate=1e-3))
    sampler = NativeSampler(policy)
    batch = collate(groups_of(policy, size=2, limits=Limits(4))[:1], OBJECTIVE)
    for turn in range(1, times + 1):
        learner.update(batch, OBJECTIVE)
        sampler.load(learner.weights(), turn)
        policy.refresh()
        if turn % sample_every == 0:
            sampler.sample(PROMPTS[:1], 2, Limits(4), turn)
        if turn % save_every == 0:
            with tempfile.TemporaryDirectory() as folder:
                policy.save(Path(folder))
                load_weights(policy, Path(folder))
    after = sha256_of(frozen(policy))
    changed = [name for name, digest in before.items() if after[name] != digest]
    return Synced(len(before), changed, sha256_of(dict(policy.trainable())) != learns)
