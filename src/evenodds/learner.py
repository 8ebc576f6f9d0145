"""One update of the policy: forward and backward over micro-batches, clip, step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from evenodds import diagnostics
from evenodds.batch import Batch, MicroBatch, lay_out
from evenodds.errors import RunError
from evenodds.machine import usable_cores
from evenodds.objectives import Objective
from evenodds.policies import Policy


@dataclass(frozen=True)
class LearnerOptions:
    """micro_batch_tokens: cells of one forward pass. passes: optimizer steps a rollout batch."""

    learning_rate: float = 5e-4
    warmup_steps: int = 5
    beta1: float = 0.9
    beta2: float = 0.98
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    micro_batch_tokens: int = 2048
    passes: int = 1
    gradient_checkpointing: bool = False


@dataclass(frozen=True)
class Update:
    """What one call of `update` did.

    metrics: names of `docs/metrics.md`. logprobs: for each answer in the loss, by its index among
    the rollouts given to `collate`, the learner's log-probabilities before the first change.
    """

    metrics: Mapping[str, float]
    logprobs: Mapping[int, NDArray[np.float32]]


class Learner(Protocol):
    """The half of a policy that changes it."""

    def update(self, batch: Batch, objective: Objective) -> Update: ...
    def weights(self) -> Any: ...


@dataclass(frozen=True)
class _Pass:
    """Per-token arrays of one pass over the batch, all micro-batches one after the other."""

    loss: float
    logprobs: diagnostics.Array
    old_logprobs: diagnostics.Array
    log_ratio: diagnostics.Array
    entropy: diagnostics.Array
    advantages: diagnostics.Array
    clipped: NDArray[np.bool_]
    pieces: Mapping[int, NDArray[np.float32]]
    micro_batches: int


def _by_answer(micro: MicroBatch, logprobs: NDArray[np.float32]) -> dict[int, NDArray[np.float32]]:
    ends = np.cumsum(micro.lengths.cpu().numpy())[:-1]
    return dict(zip(micro.index, np.split(logprobs, ends), strict=True))


class TorchLearner:
    """AdamW on the trainable parameters of `policy`. Dropout is off: the ratio must start at 1."""

    def __init__(self, policy: Policy, options: LearnerOptions) -> None:
        self.policy, self.options = policy, options
        self.updates = 0
        self.parameters = policy.trainable()
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(),
            lr=options.learning_rate,
            betas=(options.beta1, options.beta2),
            weight_decay=options.weight_decay,
        )
        if options.gradient_checkpointing:
            _checkpoint_activations(policy.model)

    def weights(self) -> Any:
        """The live parameters; a sampler in this process reads them where they are."""
        return self.parameters

    def update(self, batch: Batch, objective: Objective) -> Update:
        """`passes` optimizer steps on one batch. Raises `RunError` if a gradient is not finite."""
        done = [self._step(batch, objective) for _ in range(self.options.passes)]
        first, last = done[0][0], done[-1][0]
        metrics = {
            "loss": last.loss,
            "extent/tokens": batch.extent.tokens,
            "extent/rollouts": batch.extent.rollouts,
            "extent/max_tokens": batch.extent.max_tokens,
            "micro_batches": first.micro_batches,
            "passes": self.options.passes,
            "grad_norm": done[-1][1],
            "learning_rate": self._rate(self.updates - 1),
            "entropy": float(first.entropy.mean()),
            **diagnostics.gap_metrics(first.logprobs, first.old_logprobs),
            **diagnostics.ratio_metrics(last.log_ratio),
            **diagnostics.clip_metrics(last.clipped, last.advantages),
            **diagnostics.kl_metrics(last.log_ratio),
        }
        return Update(metrics, first.pieces)

    def _rate(self, update: int) -> float:
        warm = min(1.0, (update + 1) / max(1, self.options.warmup_steps))
        return self.options.learning_rate * warm

    def _step(self, batch: Batch, objective: Objective) -> tuple[_Pass, float]:
        self.optimizer.zero_grad(set_to_none=True)
        seen = self._backward(batch, objective)
        if not np.isfinite(seen.log_ratio).all():
            raise RunError(
                f"a log-probability of update {self.updates + 1} is not finite, in the learner or "
                "in what the sampler recorded. Use --policy.dtype float32, or a sound model."
            )
        try:
            norm = nn.utils.clip_grad_norm_(
                self.parameters.values(), self.options.max_grad_norm, error_if_nonfinite=True
            )
        except RuntimeError as error:
            raise RunError(
                f"the gradient of update {self.updates + 1} is not finite. "
                "Lower --learner.learning_rate, or use --policy.dtype float32."
            ) from error
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(self.updates)
        self.optimizer.step()
        self.updates += 1
        return seen, float(norm)

    def _backward(self, batch: Batch, objective: Objective) -> _Pass:
        """Gradients of the whole batch, added up over its micro-batches."""
        rows: list[tuple[Any, ...]] = []
        pieces: dict[int, NDArray[np.float32]] = {}
        for micro in lay_out(
            batch,
            self.options.micro_batch_tokens,
            pad_id=self.policy.codec.pad_id,
            device=self.policy.device,
            can_share=self.policy.is_plain_causal,
        ):
            logprobs, entropy = self.policy.logprobs(
                micro.input_ids,
                micro.positions,
                micro.mask,
                (micro.row, micro.column),
                micro.targets,
                batch.temperature,
            )
            scored = objective.score(micro.tokens(logprobs), batch.extent)
            scored.loss.backward()
            values = (scored.loss, logprobs, micro.old_logprobs, scored.log_ratio, entropy)
            row = [v.detach().cpu().numpy() for v in (*values, micro.advantages, scored.clipped)]
            pieces.update(_by_answer(micro, row[1]))
            rows.append(tuple(row))
        loss, *tokens = zip(*rows, strict=True)
        *wide, clipped = map(np.concatenate, tokens)
        logprobs, old, log_ratio, entropy, credit = (part.astype(np.float64) for part in wide)
        return _Pass(
            float(sum(loss)), logprobs, old, log_ratio, entropy, credit, clipped, pieces, len(rows)
        )

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, int]]:
        """Optimizer moments by parameter name, and the counts, for a checkpoint."""
        names = list(self.parameters)
        tensors: dict[str, torch.Tensor] = {}
        for number, moments in self.optimizer.state_dict()["state"].items():
            for kind, value in moments.items():
                tensors[f"{names[number]}::{kind}"] = torch.as_tensor(value)
        return tensors, {"updates": self.updates}

    def restore(self, tensors: Mapping[str, torch.Tensor], counts: Mapping[str, int]) -> None:
        """The inverse of `state`."""
        numbers = {name: number for number, name in enumerate(self.parameters)}
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in tensors.items():
            name, kind = key.rsplit("::", 1)
            state.setdefault(numbers[name], {})[kind] = value
        full = self.optimizer.state_dict()
        self.optimizer.load_state_dict({**full, "state": state})
        self.updates = int(counts["updates"])


def _checkpoint_activations(model: Any) -> None:
    """Recompute activations in the backward pass. It needs training mode, so dropout is zeroed."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0  # pyright: ignore[reportArgumentType]
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.0  # pyright: ignore[reportArgumentType]
    renamed = getattr(model, "activation_checkpointing_enable", None)  # transformers 5.2x
    enable = renamed or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})
    model.enable_input_require_grads()
    model.train()


def prepare_process() -> None:
    """Threads capped to usable cores; OMP_NUM_THREADS, where it is set, is what is wanted."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(usable_cores())
