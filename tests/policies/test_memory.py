"""The formulas of the memory plan against real tensors of tiny models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from evenodds.batch import collate, lay_out
from evenodds.domain import Group, Problem, Status, Verdict
from evenodds.objectives import make_objective
from evenodds.policies import Policy
from evenodds.policies.memory import (
    Pass,
    Precision,
    adapter_bytes,
    kv_bytes,
    layer_bytes,
    optimizer_bytes,
    sizes_of,
    trainable,
    weights_bytes,
)
from tests.tiny import make_lora, make_policy, make_rollout

WIDE = {
    "hidden_size": 64,
    "intermediate_size": 192,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 16,
}
ROWS, COLUMNS = 4, 64


def sizes(policy: Policy) -> Any:
    return sizes_of(policy.model, policy.is_plain_causal)


@pytest.mark.filterwarnings("ignore:fan_in_fan_out")  # PEFT about GPT-2's own linear layers
@pytest.mark.parametrize("family", ["qwen3", "llama", "qwen2", "gpt2", "gemma2"])
def test_counted_terms_are_the_models_own(family) -> None:
    policy = make_policy(family)
    bare = sizes(policy)
    weights = sum(p.numel() * p.element_size() for p in policy.model.parameters())
    assert weights_bytes(bare, Precision(4)) == weights
    adapted = make_lora(policy, rank=4)
    assert sizes(adapted) == bare, "LoRA changed what is counted as the base"
    learns = sum(p.numel() for p in adapted.trainable().values())
    assert trainable(bare, Precision(2, 4)) == (learns, 4)
    assert adapter_bytes(bare, Precision(2, 4)) >= 6 * learns


@pytest.mark.parametrize("family", ["qwen3", "llama", "gpt2"])
def test_keys_and_values_are_the_caches_own(family) -> None:
    policy = make_policy(family)
    with torch.no_grad():
        cache = policy.model(input_ids=torch.zeros(3, 5, dtype=torch.long)).past_key_values
    held = sum(t.nbytes for layer in cache.layers for t in (layer.keys, layer.values))
    assert kv_bytes(sizes(policy), Precision(4)) * 3 * 5 == held


@pytest.mark.parametrize("rank", [0, 4])
def test_gradient_and_moments_are_adamws_own(rank) -> None:
    policy = make_policy()
    policy = make_lora(policy, rank=rank) if rank else policy
    parameters = list(policy.trainable().values())
    optimizer = torch.optim.AdamW(parameters)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    held = sum(p.grad.nbytes for p in parameters if p.grad is not None)
    states = (optimizer.state[parameter] for parameter in parameters)
    held += sum(state[name].nbytes for state in states for name in ("exp_avg", "exp_avg_sq"))
    found = optimizer_bytes(sizes(policy), Precision(4, rank))
    assert found == held * 5 // 3, "three that stay, one for a moment, and the learner's copy"


def saved_bytes(policy: Policy, forward: Callable[[], Any]) -> int:
    """Bytes of the storages that autograd keeps, without those of the model itself."""
    own = {t.untyped_storage().data_ptr() for t in policy.model.parameters()}
    own |= {t.untyped_storage().data_ptr() for t in policy.model.buffers()}
    kept: list[torch.Tensor] = []  # held, so that no storage is freed and given again

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        forward()
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in kept}
    return sum(size for at, size in storages.items() if at not in own)


PROMPT, ANSWER = 24, 40


def modules_keep(policy: Policy) -> float:
    """Bytes that a pass through the model's own modules keeps of one token."""
    ids = torch.randint(2, 17, (ROWS, COLUMNS))
    backbone: Any = policy.backbone
    return saved_bytes(policy, lambda: backbone(input_ids=ids, use_cache=False)) / ids.numel()


def ours_keeps(policy: Policy) -> float:
    """Bytes that our own pass keeps of one token: answers of one length to prompts of one."""
    rollouts = [
        make_rollout(ANSWER, seed, prompt_ids=np.arange(PROMPT) % 15 + 2) for seed in range(4)
    ]
    verdicts = [Verdict(float(i % 2), Status.RIGHT) for i in range(4)]
    groups = [Group(Problem(key, "", "", "t"), rollouts, verdicts) for key in "ab"]
    batch = collate(groups, make_objective(mask_truncated=False))
    device = policy.device
    (micro,) = lay_out(batch, 10_000, pad_id=0, device=device, can_share=policy.can_share)
    tokens = 2 * (PROMPT + 4 * ANSWER)
    return saved_bytes(policy, lambda: policy.logprobs(micro.cells, micro.targets, 1.0)) / tokens


@pytest.mark.parametrize("fused", [True, False], ids=["ours", "modules"])
@pytest.mark.parametrize("rank", [0, 4], ids=["all", "lora"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("family", ["qwen3", "llama", "qwen2"])
def test_what_a_layer_keeps_is_bounded_and_not_far_above(family, dtype, rank, fused) -> None:
    def each(layers: int) -> float:
        policy = make_policy(family, **{**WIDE, "num_hidden_layers": layers})
        policy.model.to(dtype)
        policy = make_lora(policy, rank) if rank else policy
        return ours_keeps(policy) if fused else modules_keep(policy)

    real = (each(4) - each(2)) / 2
    found = layer_bytes(
        sizes_of(make_policy(family, **WIDE).model, fused),
        Precision(dtype.itemsize, rank),
        Pass(1, PROMPT, ANSWER, cpu=True),
    )
    print(f"\n{family} {dtype} rank {rank} fused {fused}: kept {real:.0f}, planned {found}")
    assert real <= found <= 1.5 * real
