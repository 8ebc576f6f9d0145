"""The native engine against the model's own forward, for every family that it claims."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch

from evenodds.domain import Limits, Stop
from evenodds.errors import RunError
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.sampling import packed
from evenodds.sampling.fused import FusedDecoder, common_prefix
from evenodds.sampling.modules import ModuleDecoder
from evenodds.sampling.native import NativeSampler
from tests.tiny import hf_logprobs, make_lora, make_policy

PROMPTS = ["12*34=", "7*8=", "123*4567=", "9*9="] * 3
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8,
}
FUSED = {
    "qwen3": ("qwen3", {}),
    "qwen3, tied": ("qwen3", {"tie_word_embeddings": True}),
    "qwen2, biases": ("qwen2", {}),
    "llama": ("llama", {}),
    "llama, one kv head": ("llama", {"num_key_value_heads": 1}),
    "llama, attention bias": ("llama", {"attention_bias": True}),
    "llama, mlp bias": ("llama", {"mlp_bias": True}),
    "llama, scaled rope": ("llama", {"rope_parameters": LLAMA3}),
}


def worst_gap(policy, rollouts) -> float:
    return max(
        float(np.abs(hf_logprobs(policy.model, r.prompt_ids, r.ids) - r.logprobs).max())
        for group in rollouts
        for r in group
    )


@pytest.mark.parametrize("name", sorted(FUSED))
def test_fused_logprobs_are_those_of_the_model(name) -> None:
    family, changes = FUSED[name]
    policy = make_policy(family, **changes)
    sampler = NativeSampler(policy, max_rows=20)
    assert isinstance(sampler.decoder, FusedDecoder)
    assert worst_gap(policy, sampler.sample(PROMPTS, 4, Limits(30), 1)) < 1e-5


@pytest.mark.parametrize(
    ("family", "changes"),
    [("gpt2", {}), ("gemma2", {"sliding_window": 4})],
)
def test_any_other_family_goes_through_its_own_modules(family, changes) -> None:
    policy = make_policy(family, **changes)
    sampler = NativeSampler(policy, max_rows=20)
    assert isinstance(sampler.decoder, ModuleDecoder)
    assert worst_gap(policy, sampler.sample(PROMPTS, 4, Limits(20), 1)) < 1e-5


def test_a_warm_adapter_is_sampled_from_and_the_base_never_written() -> None:
    policy = make_lora(make_policy("qwen3"))

    def digest() -> str:
        found = hashlib.sha256()
        for name, value in policy.model.state_dict().items():
            if "lora" not in name:
                found.update(value.numpy().tobytes())
        return found.hexdigest()

    before = digest()
    sampler = NativeSampler(policy)
    for version in range(5):
        sampler.load(None, version)
    assert worst_gap(policy, sampler.sample(PROMPTS, 4, Limits(20), 1)) < 1e-5
    assert digest() == before


def test_an_adapter_on_some_layers_only_is_sampled_from() -> None:
    policy = make_lora(make_policy("llama"), targets=["q_proj", "v_proj", "down_proj"])
    sampler = NativeSampler(policy)
    assert worst_gap(policy, sampler.sample(PROMPTS, 4, Limits(20), 1)) < 1e-5


def test_a_small_change_of_a_bfloat16_policy_reaches_the_sampler() -> None:
    """Added into bfloat16 weights it would be rounded away; the gap must not grow with it."""

    def gap(size: float) -> float:
        policy = make_policy("qwen3")
        policy.model.to(torch.bfloat16)
        policy = make_lora(policy, warm=False)
        with torch.no_grad():
            for name, parameter in policy.model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=size)
        gaps = [
            np.abs(hf_logprobs(policy.model, r.prompt_ids, r.ids) - r.logprobs)
            for group in NativeSampler(policy).sample(PROMPTS, 4, Limits(20), 1)
            for r in group
        ]
        return float(np.concatenate(gaps).mean())

    assert gap(0.03) < 1.5 * gap(0.0) + 1e-3


@pytest.mark.parametrize("shared", [0, 7, 8, 9, 30])
def test_a_prefix_that_prompts_share_is_run_once_and_changes_nothing(shared) -> None:
    policy = make_policy("qwen3")
    prompts = ["12345678901234567890123456789012"[:shared] + tail for tail in PROMPTS[:4]]
    ids = [policy.codec.encode(prompt) for prompt in prompts]
    assert common_prefix(ids) == (shared if shared >= 8 else 0)
    assert worst_gap(policy, NativeSampler(policy).sample(prompts, 3, Limits(20), 1)) < 1e-5


def test_equal_prompts_keep_a_token_of_their_own() -> None:
    policy = make_policy("qwen3")
    prompts = ["123456789012="] * 3 + ["1234567890"]
    assert common_prefix([policy.codec.encode(prompt) for prompt in prompts]) == 9
    assert worst_gap(policy, NativeSampler(policy).sample(prompts, 2, Limits(20), 1)) < 1e-5


def test_load_reads_changed_weights() -> None:
    policy = make_policy("qwen3")
    sampler = NativeSampler(policy)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    sampler.load(None, 1)
    assert worst_gap(policy, sampler.sample(PROMPTS, 2, Limits(20), 1)) < 1e-5


@pytest.mark.parametrize("family", ["qwen3", "gpt2"])
def test_what_shares_a_batch_does_not_change_a_draw(family) -> None:
    policy = make_policy(family)
    found = [
        [
            r.ids.tolist()
            for group in NativeSampler(policy, rows).sample(PROMPTS, 4, Limits(24), 5)
            for r in group
        ]
        for rows in (4, 13, 48)
    ]
    assert found[0] == found[1] == found[2]


def test_temperature_is_in_the_logprobs() -> None:
    policy = make_policy("qwen3")
    rollout = NativeSampler(policy).sample(["7*8="], 1, Limits(20, temperature=0.5), 3)[0][0]
    row = torch.from_numpy(np.concatenate([rollout.prompt_ids, rollout.ids]))[None]
    with torch.no_grad():
        logprobs = (policy.model(input_ids=row).logits[0] / 0.5).log_softmax(-1)
    at = np.arange(len(rollout.ids)) + len(rollout.prompt_ids) - 1
    assert np.allclose(logprobs.numpy()[at, rollout.ids], rollout.logprobs, atol=1e-5)


def test_every_stop_token_ends_and_is_kept() -> None:
    policy = make_policy("qwen3")
    stops = policy.codec.stop_ids | {policy.codec.tokenizer.convert_tokens_to_ids("7")}
    object.__setattr__(policy.codec, "stop_ids", stops)
    seen = set()
    for group in NativeSampler(policy).sample(PROMPTS, 8, Limits(40), 2):
        for rollout in group:
            inside = [i for i in rollout.ids.tolist() if i in stops]
            assert len(inside) == (rollout.stop is Stop.END_TOKEN)
            if inside:
                assert rollout.ids[-1] in stops
                assert "7" not in rollout.text
                seen.add(int(rollout.ids[-1]))
    assert seen == stops


def test_a_stop_string_cuts_the_text_and_not_the_ids() -> None:
    limits = Limits(40, stop_strings=("3", "=4"))
    stopped = 0
    policy = make_policy("qwen3")
    for group in NativeSampler(policy).sample(PROMPTS, 8, limits, 2):
        for rollout in group:
            assert "3" not in rollout.text
            assert "=4" not in rollout.text
            if rollout.stop is Stop.STOP_STRING:
                stopped += 1
                whole = policy.codec.decode(rollout.ids)
                assert whole.startswith(rollout.text)
                assert whole.removeprefix(rollout.text).startswith(("3", "=4"))
    assert stopped > 10


def test_the_end_token_may_equal_the_padding_token() -> None:
    policy = make_policy("qwen3")
    policy.codec.tokenizer.pad_token = policy.codec.tokenizer.eos_token
    for group in NativeSampler(policy).sample(PROMPTS, 8, Limits(40), 2):
        for rollout in group:
            assert (rollout.ids[-1] == 1) == (rollout.stop is Stop.END_TOKEN)


def test_a_sliding_window_is_not_decoded_fused() -> None:
    policy = make_policy("qwen2", use_sliding_window=True, max_window_layers=0, sliding_window=4)
    assert policy.fused is None


@pytest.mark.parametrize("family", ["qwen3", "gpt2"])
@pytest.mark.parametrize("max_rows", [5, 256])
def test_a_host_that_reads_one_step_late_gets_the_same_rollouts(family, max_rows) -> None:
    def drawn(lags: bool) -> list[tuple[str, bytes]]:
        sampler = NativeSampler(make_policy(family), max_rows)
        sampler.lags = lags
        groups = sampler.sample(PROMPTS, 4, Limits(30, stop_strings=("7",)), 3)
        return [(r.text, r.ids.tobytes()) for group in groups for r in group]

    assert drawn(True) == drawn(False)


def test_groups_are_handed_over_once_each_as_they_finish() -> None:
    seen: dict[int, list] = {}
    sampler = NativeSampler(make_policy("qwen3"), max_rows=9)
    groups = sampler.sample(PROMPTS, 4, Limits(20), 1, seen.__setitem__)
    assert sorted(seen) == list(range(len(PROMPTS)))
    assert [seen[p] for p in range(len(PROMPTS))] == groups


def test_tokens_that_are_kept_stay_within_the_budget() -> None:
    """A budget for one group decodes group after group, and draws the same."""
    wide = NativeSampler(make_policy("qwen3"))
    tight = NativeSampler(make_policy("qwen3"), max_cells=1)
    most = 0
    step = tight.decoder.step

    def counted(tokens):
        nonlocal most
        most = max(most, len(tokens))
        return step(tokens)

    tight.decoder.step = counted
    texts = [
        [r.text for group in sampler.sample(PROMPTS, 4, Limits(20), 1) for r in group]
        for sampler in (wide, tight)
    ]
    assert texts[0] == texts[1]
    assert most == 4


def watched(sampler: NativeSampler, look) -> list[int]:
    """What `look` sees behind every decoding step, gathered while the sampler is used."""
    seen: list[int] = []
    step = sampler.decoder.step

    def looked(tokens):
        logits = step(tokens)
        seen.append(look(sampler.decoder))
        return logits

    sampler.decoder.step = looked
    return seen


def test_one_long_prompt_counts_for_all_rows_of_the_budget() -> None:
    """Its slots are as wide for every row, so fewer of them fit."""
    sampler = NativeSampler(make_policy("qwen3"), max_rows=64, max_cells=1600)
    cells = watched(sampler, lambda d: d.slots.rows * d.slots.columns)
    sampler.sample(["1" * 100 + "=", *["7="] * 12], 4, Limits(16), 1)
    assert max(cells) <= 1600 // 117 * 128  # 101 + 16 tokens, in steps of 16


def test_rows_that_are_over_make_no_others_wider() -> None:
    """Where dropping is not free they stay for a while, and decode for nothing."""
    sampler = NativeSampler(make_policy("qwen3"), max_rows=12)
    sampler.lags, sampler.decoder.patience = True, 0.5
    columns = watched(sampler, lambda d: d.slots.columns)
    groups = sampler.sample(PROMPTS, 4, Limits(39), 1)
    assert worst_gap(sampler.policy, groups) < 1e-5
    assert max(columns) <= 48  # 9 of the longest prompt and 39


def test_a_cache_of_modules_is_no_wider_than_its_rows_are_long() -> None:
    sampler = NativeSampler(make_policy("gpt2"), max_rows=5)
    columns = watched(sampler, lambda d: d.mask.shape[1])
    groups = sampler.sample(PROMPTS * 2, 4, Limits(24), 1)
    assert worst_gap(sampler.policy, groups) < 1e-5
    assert len(columns) > 100
    assert max(columns) <= 10 + 24


@pytest.mark.parametrize("targets", ["all-linear", ["q_proj", "v_proj", "lm_head"]])
def test_large_float32_weights_are_packed_and_nothing_changes(monkeypatch, targets) -> None:
    """An adapter on the output head is sampled from too."""
    monkeypatch.setattr(packed, "LARGE", 1)
    policy = make_lora(make_policy("qwen3"), targets=targets)
    sampler = NativeSampler(policy)
    assert worst_gap(policy, sampler.sample(PROMPTS, 4, Limits(20), 1)) < 1e-5
    with torch.no_grad():
        for parameter in policy.trainable().values():
            parameter.add_(0.1 * torch.randn_like(parameter))
    sampler.load(None, 1)
    assert worst_gap(policy, sampler.sample(PROMPTS, 4, Limits(20), 1)) < 1e-5


def test_no_prompts_give_no_rollouts() -> None:
    assert NativeSampler(make_policy("qwen3")).sample([], 4, Limits(5), 1) == []


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_policy_without_a_distribution_is_told_in_one_line(temperature) -> None:
    policy = make_policy("qwen3")
    sampler = NativeSampler(policy)
    with torch.no_grad():
        policy.model.lm_head.weight[3] = float("nan")
    sampler.load(None, 1)
    with pytest.raises(RunError, match="logits are not finite"):
        sampler.sample(PROMPTS, 2, Limits(6, temperature=temperature), 1)


@pytest.mark.parametrize("family", ["qwen3", "gpt2", "gemma2"])
def test_a_policy_that_computes_activations_again_is_sampled_from_as_ever(family) -> None:
    """GPT-2 keeps no cache in training mode, which the learner needs."""
    policy = make_policy(family)
    sampler = NativeSampler(policy, max_rows=9)
    TorchLearner(policy, LearnerOptions(gradient_checkpointing=True))
    assert worst_gap(policy, sampler.sample(PROMPTS, 4, Limits(20), 1)) < 1e-5
    assert policy.backbone.training
