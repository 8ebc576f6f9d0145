"""A policy that cannot be sampled from is told before anything is sampled."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import transformers

from evenodds.errors import UsageError
from evenodds.policies import Policy
from evenodds.sampling.fused import FusedDecoder
from evenodds.sampling.modules import ModuleDecoder
from evenodds.sampling.native import NativeSampler
from evenodds.sampling.probe import probe
from tests.tiny import make_lora, make_policy

SIZE = {"vocab_size": 18, "hidden_size": 32, "num_hidden_layers": 2, "pad_token_id": 0}


def around(model) -> Policy:
    return Policy(model.eval(), make_policy().codec, "odd", torch.device("cpu"))


@pytest.mark.parametrize("family", ["qwen3", "qwen2", "llama", "gpt2", "gemma2"])
def test_what_can_be_sampled_passes(family) -> None:
    sampler = NativeSampler(make_policy(family))
    kind = type(sampler.decoder)
    probe(sampler)
    assert type(sampler.decoder) is kind


def test_an_adapter_and_short_types_pass() -> None:
    policy = make_lora(make_policy())
    probe(NativeSampler(policy))
    policy.model.to(torch.bfloat16)
    probe(NativeSampler(policy))


def test_mamba_is_told() -> None:
    config = transformers.MambaConfig(**SIZE, state_size=4)
    with pytest.raises(UsageError, match="'odd' cannot be sampled from here: "):
        probe(NativeSampler(around(transformers.MambaForCausalLM(config))))


def test_an_encoder_is_told() -> None:
    config = transformers.BertConfig(**SIZE, num_attention_heads=4, intermediate_size=48)
    with pytest.raises(UsageError, match="'odd' cannot be sampled from here: "):
        probe(NativeSampler(around(transformers.BertLMHeadModel(config))))


def test_a_head_with_an_unknown_twist_is_told() -> None:
    policy = make_policy("gpt2")
    forward = policy.model.forward

    def twisted(**known):
        output = forward(**known)
        output.logits = 2 * output.logits
        return output

    policy.model.forward = twisted
    with pytest.raises(UsageError, match="log-probabilities differ by"):
        probe(NativeSampler(policy))


def test_a_fused_decoder_that_differs_gives_way_to_the_modules() -> None:
    sampler = NativeSampler(make_policy())
    assert isinstance(sampler.decoder, FusedDecoder)
    sampler.decoder.head = replace(sampler.decoder.head, scale=2.0)
    probe(sampler)
    assert isinstance(sampler.decoder, ModuleDecoder)
