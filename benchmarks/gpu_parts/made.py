"""The model that is measured: a shape, random weights, a tokenizer of as many made words."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch

from evenodds.policies import Policy
from evenodds.policies.codec import Codec


@dataclass(frozen=True)
class Scale:
    """A Qwen3 by the numbers of its config, and how much work is done with it.

    rows: answers decoded together, one measurement each. prompt, answer: tokens; all answers have
    the same length. learned: answers of one update. square: side of the matrices, and copied:
    bytes, from which the peak rates are taken.
    """

    name: str
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    rank: int
    group_size: int
    prompt: int
    answer: int
    rows: tuple[int, ...]
    learned: int
    square: int
    copied: int


QWEN3 = Scale(
    name="Qwen3-0.6B",
    hidden=1024,
    inner=3072,
    layers=28,
    heads=16,
    kv_heads=8,
    head_size=128,
    vocabulary=151_936,
    rank=16,
    group_size=8,
    prompt=128,
    answer=256,
    rows=(64, 256),
    learned=64,
    square=8192,
    copied=2**30,
)
TINY = Scale(
    name="a tiny Qwen3",
    hidden=32,
    inner=48,
    layers=2,
    heads=4,
    kv_heads=2,
    head_size=8,
    vocabulary=320,
    rank=4,
    group_size=4,
    prompt=12,
    answer=8,
    rows=(4, 8),
    learned=8,
    square=128,
    copied=2**20,
)


def made_tokenizer(size: int) -> Any:
    """`size` words of one token each, `w0 ` to `w123 `; the first is the padding."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({f"w{n}": n for n in range(size)}, unk_token="w0"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="w0", unk_token="w0")


def made_model(scale: Scale, device: torch.device, dtype: torch.dtype) -> Any:
    """The Hugging Face model with random weights, made on the device."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=scale.vocabulary,
        hidden_size=scale.hidden,
        intermediate_size=scale.inner,
        num_hidden_layers=scale.layers,
        num_attention_heads=scale.heads,
        num_key_value_heads=scale.kv_heads,
        head_dim=scale.head_size,
        max_position_embeddings=40_960,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,  # nothing ends an answer but its length
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = Qwen3ForCausalLM(config)
    torch.nn.init.constant_(model.model.norm.weight, 4.0)  # so that some tokens are likely
    return model.to(dtype).eval()


def as_policy(model: Any, scale: Scale, lora: bool) -> Policy:
    """The model as a policy; with an adapter that is not at its start, so that it changes things.

    The model that is given gets the adapter too: copy it before, where it must stay as it is.
    """
    wrapper = _adapted(model, scale.rank) if lora else None
    codec = Codec(made_tokenizer(scale.vocabulary), frozenset())
    return Policy(model, codec, scale.name, next(model.parameters()).device, wrapper)


def _adapted(model: Any, rank: int) -> Any:
    from peft import LoraConfig, get_peft_model

    settings = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    wrapper = get_peft_model(model, settings)
    for name, parameter in model.named_parameters():
        if ".lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    return wrapper.eval()


def twin(model: Any, dtype: torch.dtype) -> Any:
    """The same model in another precision, with weights of its own."""
    return copy.deepcopy(model).to(dtype)


def prompt_ids(scale: Scale, count: int) -> torch.Tensor:
    """[count, scale.prompt] ids, all different from their first token on."""
    draw = torch.Generator().manual_seed(1)
    return torch.randint(1, scale.vocabulary, (count, scale.prompt), generator=draw)


def made_prompts(scale: Scale, count: int) -> list[str]:
    """The same as texts."""
    return [" ".join(f"w{n}" for n in row) for row in prompt_ids(scale, count).tolist()]
