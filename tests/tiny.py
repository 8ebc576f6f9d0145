"""Tiny random policies and groups that many tests build on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from evenodds.domain import Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.lab.abacus_model import make_tokenizer
from evenodds.policies import Policy
from evenodds.policies.codec import Codec, stop_ids_of
from evenodds.policies.quiet import quietly

torch.set_num_threads(1)

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}


def make_hf(family: str = "qwen3", seed: int = 0, **changes: Any) -> Any:
    """A random causal LM of a family, with weights large enough that its choices differ."""
    import transformers

    tokenizer = make_tokenizer()
    names = {
        "qwen3": "Qwen3",
        "qwen2": "Qwen2",
        "llama": "Llama",
        "gpt2": "GPT2",
        "gemma2": "Gemma2",
    }
    size: dict[str, Any] = dict(SMALL)
    if family == "gpt2":
        size = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
        changes = {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0, **changes}
    if family in ("qwen3", "gemma2"):
        size["head_dim"] = 8
    config = getattr(transformers, f"{names[family]}Config")(
        vocab_size=len(tokenizer),
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        **{**size, **changes},
    )
    torch.manual_seed(seed)
    kind = "LMHeadModel" if family == "gpt2" else "ForCausalLM"
    model = getattr(transformers, names[family] + kind)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def make_policy(family: str = "qwen3", seed: int = 0, **changes: Any) -> Policy:
    model = make_hf(family, seed, **changes)
    tokenizer = make_tokenizer()
    codec = Codec(tokenizer, stop_ids_of(tokenizer, model.config))
    return Policy(model, codec, f"tiny-{family}", torch.device("cpu"))


def make_lora(
    policy: Policy, rank: int = 4, warm: bool = True, targets: str | list[str] = "all-linear"
) -> Policy:
    """The policy with an adapter; a warm one differs from the base."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(1)
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=targets, task_type="CAUSAL_LM")
    with quietly():  # as where a policy is loaded
        wrapper = get_peft_model(policy.model, config)
    if warm:
        with torch.no_grad():
            for name, parameter in policy.model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.1)
    return Policy(policy.model, policy.codec, policy.name, policy.device, wrapper)


def make_rollout(
    length: int, seed: int = 0, stop: Stop = Stop.END_TOKEN, **changes: Any
) -> Rollout:
    rng = np.random.default_rng(seed)
    known = {
        "prompt_ids": np.array([3, 4, 12, 5, 13]),
        "ids": rng.integers(2, 17, length),
        "logprobs": -rng.random(length).astype(np.float32),
        "stop": stop,
        "text": "x" * length,
        "limits": Limits(max_tokens=64),
    }
    return Rollout(**{**known, **changes})


def make_group(
    rewards: Sequence[float], lengths: Sequence[int], key: str = "k", **changes: Any
) -> Group:
    problem = Problem(key, "1*2=", "2", "multiplication")
    rollouts = [make_rollout(n, seed=i, **changes) for i, n in enumerate(lengths)]
    verdicts = [Verdict(r, Status.RIGHT if r == 1 else Status.WRONG) for r in rewards]
    return Group(problem, rollouts, verdicts)


def hf_logprobs(model: Any, prompt_ids: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Reference: one row, no cache, no padding, the model's own logits."""
    row = torch.from_numpy(np.concatenate([prompt_ids, ids]))[None]
    with torch.no_grad():
        logprobs = model(input_ids=row).logits[0].float().log_softmax(-1)
    start = len(prompt_ids) - 1
    return logprobs[start:-1].gather(-1, row[0, start + 1 :, None])[:, 0].numpy()


def rollout_rows(step: int, report: Any, verifier: str, prompts: list[str]) -> list[dict[str, Any]]:
    """The rows of a step as its parquet file will have them."""
    from evenodds.records import rollout_table

    return rollout_table(step, report, verifier, prompts).to_pylist()
