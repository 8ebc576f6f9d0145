"""One update of the policy: forward and backward over micro-batches, clip, step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from evenodds import diagnostics
from evenodds.batch import Batch, Cells, MicroBatch, lay_out
from evenodds.finite import Evidence, Fault, Guard
from evenodds.objectives import Objective, Scored, Tokens


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

    metrics: names of `docs/metrics.md`. The others have an array [tokens] for each answer in the
    loss, by its index among the rollouts given to `collate`. logprobs: the learner's
    log-probabilities before the first change; entropies: of the distributions that these tokens
    were drawn from, in nats, then too; last_logprobs: what the last of several passes saw, None
    with one pass.
    """

    metrics: Mapping[str, float]
    logprobs: Mapping[int, NDArray[np.float32]]
    entropies: Mapping[int, NDArray[np.float32]] | None = None
    last_logprobs: Mapping[int, NDArray[np.float32]] | None = None
    skipped: Fault | None = None

    @property
    def is_taken(self) -> bool:
        """Whether weights have changed."""
        return bool(self.metrics)


class Scorer(Protocol):
    """What a reference needs of a policy: log-probabilities of given answers, as `Policy` has it.

    codec has `pad_id`. can_share: whether answers may see a prompt that stands once for all; else
    rows are padded. refresh: called before each pass over a batch, for weights that have changed.
    """

    @property
    def codec(self) -> Any: ...
    @property
    def device(self) -> torch.device: ...
    @property
    def can_share(self) -> bool: ...
    def refresh(self) -> None: ...
    def logprobs(
        self,
        cells: Cells,
        targets: Int[Tensor, " n"],
        temperature: float,
        entropy_gradient: bool = False,
    ) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]: ...


class Trainable(Scorer, Protocol):
    """What a learner needs of a policy. frozen: the policy as it is, for a reference."""

    @property
    def model(self) -> Any: ...
    def trainable(self) -> dict[str, nn.Parameter]: ...
    def frozen(self) -> Scorer: ...


def bytes_learned(policy: Trainable) -> int:
    """Bytes of the parameters that learn."""
    return sum(value.numel() * value.element_size() for value in policy.trainable().values())


class Learner(Protocol):
    """The half of a policy that changes it."""

    def update(self, batch: Batch, objective: Objective) -> Update: ...
    def weights(self) -> Any: ...


@dataclass(frozen=True)
class _Pass:
    """One pass over the batch. seen: arrays [tokens] by name, micro-batches one after the other."""

    loss: float
    seen: Mapping[str, NDArray[Any]]
    pieces: Mapping[int, NDArray[np.float32]]
    entropies: Mapping[int, NDArray[np.float32]]
    micro_batches: int
    evidence: Evidence


def _seen(tokens: Tokens, scored: Scored) -> dict[str, Tensor]:
    """What is kept of a micro-batch for the diagnostics. position: in its answer."""
    starts, slope = tokens.lengths.cumsum(0) - tokens.lengths, tokens.logprobs.grad
    numbers = torch.arange(len(tokens.rollout), device=starts.device)
    kept = {
        "logprobs": tokens.logprobs,
        "old": tokens.old_logprobs,
        "log_ratio": scored.log_ratio,
        "entropy": tokens.entropy,
        "advantages": tokens.advantages,
        "reference": tokens.reference_logprobs,
        "clipped": scored.clipped,
        "position": numbers - starts[tokens.rollout],
        "loss": scored.loss[None],
        "slope": torch.zeros_like(tokens.logprobs) if slope is None else slope,
    }
    return {name: value.detach() for name, value in kept.items() if value is not None}


def _moved(rows: Sequence[Mapping[str, Tensor]]) -> dict[str, NDArray[Any]]:
    """All micro-batches together on the CPU: a GPU is waited for once a pass."""
    arrays = {name: torch.cat([row[name] for row in rows]).cpu().numpy() for name in rows[0]}
    return {n: v.astype(np.float64) if v.dtype.kind == "f" else v for n, v in arrays.items()}


def asked(policy: Scorer, batch: Batch, budget: int) -> Iterator[MicroBatch]:
    """The batch laid out as the policy can take it, at most `budget` tokens at a time."""
    policy.refresh()
    return lay_out(
        batch,
        budget,
        pad_id=policy.codec.pad_id,
        device=policy.device,
        can_share=policy.can_share,
    )


def ask(
    policy: Scorer, micro: MicroBatch, temperature: float, entropy_gradient: bool = False
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """log pi of the answer tokens of a micro-batch, and the entropies they were drawn from."""
    return policy.logprobs(micro.cells, micro.targets, temperature, entropy_gradient)


def by_answer(
    micros: Sequence[MicroBatch], logprobs: Sequence[Tensor]
) -> dict[int, NDArray[np.float32]]:
    """Values of the tokens of each micro-batch, [n], cut into answers by their index in the batch.

    They may still be under way on a device: it is waited for once.
    """
    if not micros:
        return {}
    values = torch.cat([value.detach() for value in logprobs]).cpu().numpy()
    ends = torch.cat([micro.lengths for micro in micros]).cumsum(0).cpu().numpy()[:-1]
    index = [number for micro in micros for number in micro.index]
    return dict(zip(index, np.split(values, ends), strict=True))


class TorchLearner:
    """AdamW on the trainable parameters of `policy`. Dropout is off: the ratio must start at 1.

    A pass in which a number is not finite is not taken: weights, moments and counts stay exactly
    as they were. A weight that is not finite itself is put back from a copy.
    """

    def __init__(self, policy: Trainable, options: LearnerOptions) -> None:
        self.policy, self.options = policy, options
        self.updates = 0
        self.parameters = policy.trainable()
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(),
            lr=options.learning_rate,
            betas=(options.beta1, options.beta2),
            weight_decay=options.weight_decay,
        )
        self.guard = Guard(policy.model, self.parameters)
        if options.gradient_checkpointing:
            _checkpoint_activations(policy.model)

    def weights(self) -> Any:
        """The live parameters; a sampler in this process reads them where they are."""
        return self.parameters

    def update(self, batch: Batch, objective: Objective) -> Update:
        """`passes` optimizer steps on one batch, or as many as are finite; see `Update.skipped`."""
        first = self._step(batch, objective)
        if isinstance(first, Fault):
            return Update({}, {}, skipped=first)
        last, taken, skipped = first, 1, None
        again = batch.with_first(first.pieces)  # what the first pass saw is what a later one leaves
        while taken < self.options.passes and skipped is None:
            found = self._step(again, objective)
            if isinstance(found, Fault):
                skipped = replace(found, turn=taken + 1)
            else:
                last, taken = found, taken + 1
        metrics = {
            "loss": last.loss,
            "extent/tokens": batch.extent.tokens,
            "extent/rollouts": batch.extent.rollouts,
            "extent/max_tokens": batch.extent.max_tokens,
            "micro_batches": first.micro_batches,
            "passes": taken,
            "grad_norm": float(last.evidence.norms[-1]),
            "learning_rate": self._rate(self.updates - 1),
            **_measured(first, last, objective),
        }
        again_seen = last.pieces if taken > 1 else None
        return Update(metrics, first.pieces, first.entropies, again_seen, skipped)

    def _rate(self, update: int) -> float:
        warm = min(1.0, (update + 1) / max(1, self.options.warmup_steps))
        return self.options.learning_rate * warm

    def _step(self, batch: Batch, objective: Objective) -> _Pass | Fault:
        """One pass and its optimizer step; or what is not finite, and nothing has changed."""
        self.optimizer.zero_grad(set_to_none=True)
        done = self._backward(batch, objective)
        options, rate = self.options, self._rate(self.updates)
        farthest = rate * options.max_grad_norm / self.optimizer.defaults["eps"]
        fault = self.guard.fault(done.evidence, rate * options.weight_decay, farthest)
        if fault is not None:
            self.optimizer.zero_grad(set_to_none=True)
            return fault
        norm = done.evidence.norms[-1]
        nn.utils.clip_grads_with_norm_(self.parameters.values(), options.max_grad_norm, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.updates += 1
        self.guard.keep()
        return done

    def _backward(self, batch: Batch, objective: Objective) -> _Pass:
        """Gradients of the whole batch, added up over its micro-batches."""
        rows: list[dict[str, Tensor]] = []
        norms: list[Tensor] = []
        micros: list[MicroBatch] = []
        for micro in asked(self.policy, batch, self.options.micro_batch_tokens):
            logprobs, entropy = ask(self.policy, micro, batch.temperature, objective.entropy != 0)
            logprobs.retain_grad()  # [n]: it tells which answer a bad gradient comes from
            tokens = micro.tokens(logprobs, entropy)
            scored = objective.score(tokens, batch.extent)
            scored.loss.backward()
            rows.append(_seen(tokens, scored))
            norms.append(self.guard.gradient())
            micros.append(micro)
        sizes = {answer.index: answer.ids.size for answer in batch.answers}
        parts = [np.repeat(m.index, [sizes[index] for index in m.index]) for m in micros]
        pieces = by_answer(micros, [row["logprobs"] for row in rows])
        entropies = by_answer(micros, [row["entropy"] for row in rows])
        seen = _moved(rows)
        losses = seen.pop("loss")
        evidence = Evidence(seen, losses, torch.stack(norms), parts)
        return _Pass(float(losses.sum()), seen, pieces, entropies, len(rows), evidence)

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, int]]:
        """Optimizer moments by parameter name, and the counts, for a checkpoint: all finite."""
        names = list(self.parameters)
        tensors: dict[str, torch.Tensor] = {}
        for number, moments in self.optimizer.state_dict()["state"].items():
            for kind, value in moments.items():
                tensors[f"{names[number]}::{kind}"] = torch.as_tensor(value)
        self.guard.require(tensors)
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
        self.guard.keep()


def _measured(first: _Pass, last: _Pass, objective: Objective) -> dict[str, float]:
    """Diagnostics of the first pass (where the policy stood) and of the last (how far it went)."""
    before, after = first.seen, last.seen
    metrics = {
        **diagnostics.entropy_metrics(before["entropy"], before["position"]),
        **diagnostics.gap_metrics(before["logprobs"], before["old"]),
        **diagnostics.ratio_metrics(after["log_ratio"]),
        **diagnostics.clip_metrics(after["clipped"], after["advantages"]),
        **diagnostics.kl_metrics(after["logprobs"] - after["old"]),
    }
    if "reference" in before:
        metrics |= diagnostics.reference_metrics(before["reference"] - before["logprobs"])
    if objective.correction is not None:
        gap = before["logprobs"] - before["old"]
        if objective.correction.sequence:  # one weight an answer, whose tokens stand together
            gap = np.add.reduceat(gap, np.flatnonzero(before["position"] == 0))
        metrics |= diagnostics.correction_metrics(gap, objective.correction.cap)
    return metrics


def _checkpoint_activations(model: Any) -> None:
    """Recompute activations in the backward pass. It needs training mode, so dropout is zeroed."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():  # families that call the function
            if "drop" in name and isinstance(value, float):
                setattr(module, name, 0.0)
    renamed = getattr(model, "activation_checkpointing_enable", None)  # transformers 5.2x
    enable = renamed or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})
    model.enable_input_require_grads()
    model.train()
