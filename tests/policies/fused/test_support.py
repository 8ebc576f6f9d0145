"""What is not computed exactly by the few operations goes through the modules, and is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import peft
import pytest
import torch
from torch import nn

from evenodds.domain import Limits
from evenodds.policies import Policy
from evenodds.sampling import packed
from evenodds.sampling.fused import FusedDecoder
from evenodds.sampling.native import NativeSampler
from evenodds.sampling.probe import probe
from tests.policies.fused.test_forward import SHAPES, assert_equal, make_batch
from tests.sampling.test_native import PROMPTS, worst_gap
from tests.tiny import make_lora, make_policy

SOME = ["q_proj", "down_proj"]


def lora(**known: Any) -> Any:
    return peft.LoraConfig(**{"r": 4, "target_modules": SOME, "task_type": "CAUSAL_LM", **known})


FUSED = {
    "rslora": lora(use_rslora=True),
    "ranks": lora(rank_pattern={"q_proj": 2}, alpha_pattern={"down_proj": 3}),
    "one layer": lora(layers_to_transform=[1]),
    "biases": lora(bias="all"),
    "head": lora(target_modules=[*SOME, "lm_head"]),
    "whole head and embedding": lora(modules_to_save=["lm_head", "embed_tokens"]),
    "whole norms": lora(modules_to_save=["input_layernorm", "norm"]),
}
MODULES = {
    "dora": lora(use_dora=True),
    "lora with bias": lora(lora_bias=True),
    "embedding": lora(target_modules=[*SOME, "embed_tokens"]),
    "single tokens": lora(trainable_token_indices=[3, 5]),
    "whole projection": lora(target_modules=["v_proj"], modules_to_save=["q_proj"]),
    "one weight": lora(target_parameters=["mlp.gate_proj.weight"]),
    "ia3": peft.IA3Config(target_modules=SOME, feedforward_modules=["down_proj"]),
    "adalora": peft.AdaLoraConfig(target_modules=SOME, total_step=10, init_r=4, target_r=2),
    "lokr": peft.LoKrConfig(r=2, target_modules=SOME),
    "vera": peft.VeraConfig(r=2, target_modules=["q_proj"]),
}


def adapted(config: Any) -> Policy:
    """The sampler reads the start of an adapter, which changes nothing, then what it learned."""
    policy = make_policy("llama", attention_bias=True)
    wrapper = peft.get_peft_model(policy.model, config)
    return Policy(policy.model.eval(), policy.codec, policy.name, policy.device, wrapper)


def change(policy: Policy) -> None:
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in policy.trainable().values():
            parameter.add_(0.1 * torch.randn_like(parameter))


@pytest.mark.parametrize("name", [*FUSED, *MODULES])
@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_adapter_is_sampled_and_learned_as_its_modules_do(name, monkeypatch) -> None:
    monkeypatch.setattr(packed, "LARGE", 0)
    policy = adapted((FUSED | MODULES)[name])
    sampler = NativeSampler(policy)
    assert isinstance(sampler.decoder, FusedDecoder) == (name in FUSED)
    change(policy)
    sampler.load(None, 1)
    assert worst_gap(policy, sampler.sample(PROMPTS, 2, Limits(12), 1)) < 1e-5
    assert_equal(policy, make_batch(SHAPES["shared prompts"]))


class Doubled(nn.Linear):
    """Stands for quantized layers: a linear layer by class, that computes something else."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(input)


def test_a_layer_of_a_class_of_its_own_is_not_read_as_a_linear_one() -> None:
    policy = make_policy()
    policy.model.model.layers[1].self_attn.v_proj.__class__ = Doubled
    assert policy.fused is None
    assert_equal(policy, make_batch(SHAPES["shared prompts"]))


def test_a_model_that_sees_what_comes_later_is_not_computed_as_a_causal_one() -> None:
    assert make_policy("llama", is_causal=False).fused is None


def test_layers_that_the_config_leaves_out_are_not_computed() -> None:
    policy = make_policy("llama")
    policy.model.config.num_hidden_layers = 1
    assert policy.fused is None


def test_an_adapter_that_is_switched_off_or_merged_later_is_not_added(monkeypatch) -> None:
    monkeypatch.setattr(packed, "LARGE", 0)
    policy = make_lora(make_policy("llama"))
    sampler = NativeSampler(policy)
    batch = make_batch(SHAPES["shared prompts"])
    with policy.peft.disable_adapter():
        sampler.load(None, 1)
        assert worst_gap(policy, sampler.sample(PROMPTS, 2, Limits(12), 1)) < 1e-5
    sampler.load(None, 2)
    assert_equal(policy, batch)
    for change in (policy.peft.merge_adapter, policy.peft.unmerge_adapter):
        change()
        sampler.load(None, 3)
        assert worst_gap(policy, sampler.sample(PROMPTS, 2, Limits(12), 1)) < 1e-5


def test_frozen_weights_that_were_read_again_reach_a_sampler_that_packed_them(monkeypatch) -> None:
    monkeypatch.setattr(packed, "LARGE", 0)
    policy, other = make_lora(make_policy("llama")), make_lora(make_policy("llama", seed=7))
    sampler = NativeSampler(policy)
    policy.model.load_state_dict(other.model.state_dict())
    sampler.load(None, 1)
    assert worst_gap(other, sampler.sample(PROMPTS, 2, Limits(12), 1)) < 1e-5
    policy.model.to(torch.bfloat16).to(torch.float32)
    sampler.load(None, 2)
    assert worst_gap(policy, sampler.sample(PROMPTS, 2, Limits(12), 1)) < 1e-5


def test_where_the_fused_sampler_is_wrong_the_learner_and_its_reference_use_modules_too() -> None:
    policy = make_policy()
    sampler = NativeSampler(policy)
    sampler.decoder.head = replace(sampler.decoder.head, scale=2.0)
    probe(sampler)
    assert not policy.can_share
    assert not policy.frozen().can_share
