"""What is measured of one model on one device. Every figure is a value that can become JSON."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from benchmarks.gpu_parts.made import Scale, made_prompts, prompt_ids
from benchmarks.speed_parts.machine import Shape, learning_operations
from evenodds.batch import Batch, collate
from evenodds.domain import Group, Limits, Problem, Rollout, Status, Verdict
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.machine import peak_memory_mb
from evenodds.objectives import make_objective
from evenodds.policies import Policy
from evenodds.policies.memory import (
    Precision,
    adapter_bytes,
    kv_bytes,
    sizes_of,
    weights_bytes,
)
from evenodds.run.memory import FIXED, MemoryPlan, Work, choose, device_memory
from evenodds.sampling.native import NativeSampler

Figures = dict[str, Any]
GOES = 3  # of a measurement; the median counts


@dataclass(frozen=True)
class Peak:
    """What the device did in this call. operations: a second, of bfloat16 products of large square
    matrices. bandwidth: bytes a second of a copy, read and written."""

    operations: float
    bandwidth: float


def wait(device: torch.device) -> None:
    """Until the device has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(device: torch.device, once: Callable[[], object]) -> float:
    wait(device)
    started = time.perf_counter()
    once()
    wait(device)
    return time.perf_counter() - started


def peak_bytes(device: torch.device) -> int:
    """The most that tensors took since `forget_peak`; on a CPU, of the process since its start."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return int(peak_memory_mb() * 1e6)


def forget_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def peak_rates(scale: Scale, device: torch.device, dtype: torch.dtype) -> Peak:
    """Large products and a large copy, the best of several goes each."""
    side = scale.square
    one, two = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(one)
    source = torch.empty(scale.copied, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    product = min(seconds(device, lambda: torch.mm(one, two, out=out)) for _ in range(10))
    copied = min(seconds(device, lambda: target.copy_(source)) for _ in range(10))
    return Peak(2 * side**3 / product, 2 * scale.copied / copied)


def plain_logprobs(model: Any, rollout: Rollout) -> torch.Tensor:
    """The reference: Hugging Face's forward over one row, without a cache, [answer]."""
    ids = torch.from_numpy(np.concatenate([rollout.prompt_ids, rollout.ids]))[None]
    ids = ids.to(next(model.parameters()).device)
    start = rollout.prompt_ids.size
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[0, start - 1 : -1].float()
    return logits.log_softmax(-1).gather(-1, ids[0, start:, None])[:, 0].cpu()


def learners_logprobs(policy: Policy, groups: list[list[Rollout]]) -> list[torch.Tensor]:
    """What the learner finds for the same answers, by an update that changes nothing."""
    learner = TorchLearner(policy, LearnerOptions(learning_rate=1e-12))
    batch = coin_batch(groups)
    found = learner.update(batch, make_objective(mask_truncated=False)).logprobs
    return [torch.from_numpy(found[index]) for index in sorted(found)]


def agreement(policy: Policy, scale: Scale) -> Figures:
    """How far sampler and learner are from Hugging Face's forward, in nats a token."""
    prompts = made_prompts(scale, 2)
    limits = Limits(min(scale.answer, 64))
    groups = NativeSampler(policy).sample(prompts, scale.group_size, limits, 0)
    rollouts = [rollout for group in groups for rollout in group]
    reference = [plain_logprobs(policy.model, rollout) for rollout in rollouts]
    sampled = [torch.from_numpy(rollout.logprobs) for rollout in rollouts]
    learned = learners_logprobs(policy, groups)
    return {
        "tokens": sum(len(row) for row in reference),
        "sampler": _gap(sampled, reference),
        "learner": _gap(learned, reference),
        "sampler and learner": _gap(sampled, learned),
    }


def _gap(one: list[torch.Tensor], two: list[torch.Tensor]) -> Figures:
    away = torch.cat([(a - b).abs() for a, b in zip(one, two, strict=True)])
    return {"largest": float(away.max()), "mean": float(away.mean())}


def coin_batch(groups: list[list[Rollout]]) -> Batch:
    """Every second answer is right: the longest way through the learner, nothing dropped."""
    judged = [
        Group(
            Problem(str(number), "", "", "gpu"),
            rows,
            [
                Verdict(float(i % 2), Status.RIGHT if i % 2 else Status.WRONG)
                for i in range(len(rows))
            ],
        )
        for number, rows in enumerate(groups)
    ]
    return collate(judged, make_objective(mask_truncated=False))


def sampling(policy: Policy, scale: Scale, rows: int, peak: Peak) -> Figures:
    """`rows` answers by our engine: tokens a second, memory, and the share of what is possible."""
    prompts = made_prompts(scale, rows // scale.group_size)
    sampler = NativeSampler(policy, max_rows=rows)
    sampler.sample(prompts, scale.group_size, Limits(2), 0)
    forget_peak(policy.device)
    taken = statistics.median(
        seconds(
            policy.device,
            lambda: sampler.sample(prompts, scale.group_size, Limits(scale.answer), 0),
        )
        for _ in range(GOES)
    )
    plan = replace(planned(policy, scale), rows=rows)
    weights = weights_bytes(plan.sizes, plan.precision) + adapter_bytes(plan.sizes, plan.precision)
    found = _rates(policy.model, scale, rows, taken, peak)
    return {**found, "planned_bytes": _told(policy.device) + weights + plan.sampling}


def generating(model: Any, scale: Scale, rows: int, peak: Peak) -> Figures:
    """The same answers by Hugging Face generate on the base model: no adapter slows it down."""
    device = next(model.parameters()).device
    ids = prompt_ids(scale, rows // scale.group_size).to(device)
    ids = ids.repeat_interleave(scale.group_size, dim=0)

    def once(tokens: int) -> None:
        with torch.inference_mode():
            model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                top_k=0,
                max_new_tokens=tokens,
                min_new_tokens=tokens,
                pad_token_id=0,
            )

    once(2)
    forget_peak(device)
    taken = seconds(device, lambda: once(scale.answer))
    return _rates(model, scale, rows, taken, peak)


def _told(device: torch.device) -> int:
    """Bytes of a plan's allowance that `peak_bytes` sees: on a CPU it sees the whole process."""
    return FIXED["cpu"] if device.type == "cpu" else 0


def _rates(model: Any, scale: Scale, rows: int, taken: float, peak: Peak) -> Figures:
    """Shares count what must be done: every step reads the weights once and each row's keys and
    values; every token is multiplied with every weight."""
    sizes, precision = sizes_of(model, fused=True), Precision(model.dtype.itemsize)
    middle = scale.prompt + scale.answer / 2
    read = weights_bytes(sizes, precision) + rows * middle * kv_bytes(sizes, precision)
    operations = 2 * sizes.parameters * rows * scale.answer
    return {
        "rows": rows,
        "seconds": taken,
        "tokens_per_second": rows * scale.answer / taken,
        "bandwidth_share": scale.answer * read / taken / peak.bandwidth,
        "operations_share": operations / taken / peak.operations,
        "peak_bytes": peak_bytes(model.device),
    }


def planned(policy: Policy, scale: Scale) -> MemoryPlan:
    """What a run would choose here."""
    sizes = sizes_of(policy.model, policy.is_plain_causal)
    precision = Precision(policy.model.dtype.itemsize, scale.rank)
    work = Work(policy.device.type, scale.prompt, scale.answer, scale.group_size)
    return choose(sizes, precision, work, device_memory(policy.device))


def learning(policy: Policy, scale: Scale, peak: Peak) -> Figures:
    """One update on `scale.learned` answers, with the micro-batch that the memory plan chose."""
    plan = planned(policy, scale)
    prompts = made_prompts(scale, scale.learned // scale.group_size)
    limits = Limits(scale.answer)
    groups = NativeSampler(policy).sample(prompts, scale.group_size, limits, 0)
    options = LearnerOptions(
        learning_rate=1e-6,
        micro_batch_tokens=plan.micro_batch_tokens,
        gradient_checkpointing=plan.gradient_checkpointing,
    )
    learner, batch = TorchLearner(policy, options), coin_batch(groups)
    objective = make_objective(mask_truncated=False)
    learner.update(batch, objective)
    forget_peak(policy.device)
    taken = statistics.median(
        seconds(policy.device, lambda: learner.update(batch, objective)) for _ in range(GOES)
    )
    tokens = scale.learned * scale.answer
    distinct = tokens + len(prompts) * scale.prompt
    operations = learning_operations(_shape(scale), scale.rank, tokens, distinct)
    return {
        "answers": scale.learned,
        "micro_batch_tokens": options.micro_batch_tokens,
        "seconds": taken,
        "tokens_per_second": tokens / taken,
        "operations_share": operations / taken / peak.operations,
        "peak_bytes": peak_bytes(policy.device),
        "planned_bytes": _told(policy.device) + plan.resident + plan.learning,
    }


def _shape(scale: Scale) -> Shape:
    return Shape.of(
        scale.layers,
        scale.hidden,
        scale.inner,
        scale.heads,
        scale.kv_heads,
        scale.head_size,
        scale.vocabulary,
    )
