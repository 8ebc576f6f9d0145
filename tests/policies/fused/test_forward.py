"""The learner's forward pass against the model's own modules: values, and gradients above all."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from evenodds.batch import Answer, Batch, PromptAnswers
from evenodds.domain import Extent
from evenodds.learner import LearnerOptions, TorchLearner, ask, asked
from evenodds.policies.fused import attention
from tests.sampling.test_native import FUSED
from tests.tiny import make_lora, make_policy

SHAPES = {
    "shared prompts": [(7, [5, 9, 1, 12]), (3, [4, 4]), (11, [2, 30, 8])],
    "one token each": [(1, [1]), (1, [1, 1])],
    "groups of one": [(4, [6]), (9, [3])],
    "a long prompt": [(60, [1, 3])],
}


def make_batch(lengths, seed: int = 0, temperature: float = 1.0) -> Batch:
    rng = np.random.default_rng(seed)
    index = iter(range(1000))
    prompts = tuple(
        PromptAnswers(
            rng.integers(0, 18, prompt),
            tuple(
                Answer(next(index), rng.integers(0, 18, n), np.zeros(n, np.float32), 1.0)
                for n in answers
            ),
        )
        for prompt, answers in lengths
    )
    return Batch(prompts, Extent(0, 0, 0), temperature)


def weights_of(answer: Answer) -> torch.Tensor:
    """What each token's log-probability counts, different for all."""
    rng = np.random.default_rng(answer.index + 100)
    return torch.from_numpy(rng.normal(size=answer.ids.size)).float()


def plain(policy, batch: Batch) -> dict[int, torch.Tensor]:
    """One answer at a time through the model's own modules and whole logits."""
    found = {}
    for prompt in batch.prompts:
        for answer in prompt.answers:
            ids = torch.from_numpy(np.concatenate([prompt.prompt_ids, answer.ids]))[None]
            logits = policy.model(input_ids=ids).logits[0].float() / batch.temperature
            start = prompt.prompt_ids.size - 1
            every = logits[start:-1].log_softmax(-1)
            found[answer.index] = every.gather(-1, ids[0, start + 1 :, None])[:, 0]
    return found


def fused(policy, batch: Batch, budget: int = 10_000) -> dict[int, torch.Tensor]:
    found = {}
    for micro in asked(policy, batch, budget):
        logprobs, _ = ask(policy, micro, batch.temperature)
        found |= dict(zip(micro.index, logprobs.split(micro.lengths.tolist()), strict=True))
    return found


def gradients(policy, batch: Batch, found: dict[int, torch.Tensor]) -> dict[str, torch.Tensor]:
    policy.model.zero_grad()
    sum((found[a.index] * weights_of(a)).sum() for a in batch.answers).backward()
    return {n: p.grad.clone() for n, p in policy.trainable().items() if p.grad is not None}


def assert_equal(policy, batch: Batch, budget: int = 10_000) -> None:
    expected, found = plain(policy, batch), fused(policy, batch, budget)
    for index, value in expected.items():
        assert float((found[index] - value).detach().abs().max()) < 1e-5
    right, got = gradients(policy, batch, expected), gradients(policy, batch, found)
    assert right.keys() == got.keys()
    size = max(float(g.abs().max()) for g in right.values())
    for name, gradient in right.items():
        assert got[name].dtype == gradient.dtype
        assert float((got[name] - gradient).abs().max()) < 1e-5 * size, name


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("name", sorted(FUSED))
def test_gradients_of_all_weights_are_those_of_the_modules(name, shape) -> None:
    family, changes = FUSED[name]
    assert_equal(make_policy(family, **changes), make_batch(SHAPES[shape]))


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("name", sorted(FUSED))
def test_gradients_of_an_adapter_are_those_of_the_modules(name, warm) -> None:
    family, changes = FUSED[name]
    policy = make_lora(make_policy(family, **changes), warm=warm)
    assert_equal(policy, make_batch(SHAPES["shared prompts"]))


@pytest.mark.parametrize("few_keys", [0, 10_000])
@pytest.mark.parametrize("few_tokens", [1, 10_000])
def test_every_way_through_attention_is_the_same(few_keys, few_tokens, monkeypatch) -> None:
    """Both kernels, and answers in one block or in several by their lengths."""
    monkeypatch.setattr(attention, "FEW_KEYS", few_keys)
    monkeypatch.setattr(attention, "FEW_TOKENS", few_tokens)
    batch = make_batch(SHAPES["shared prompts"])
    (micro,) = asked(make_policy(), batch, 10_000)
    assert (len(attention.arrange(make_policy().fused, micro.cells).blocks) > 2) == (few_tokens < 2)
    assert_equal(make_policy("llama"), batch)


@pytest.mark.parametrize("budget", [1, 30, 60])
def test_micro_batches_add_up_to_the_same_gradients(budget) -> None:
    assert_equal(make_lora(make_policy()), make_batch(SHAPES["shared prompts"]), budget)


def test_gradients_of_an_adapter_on_some_layers_at_a_temperature() -> None:
    policy = make_lora(make_policy("llama"), targets=["k_proj", "up_proj", "o_proj"])
    assert_equal(policy, make_batch(SHAPES["shared prompts"], temperature=0.7))


def test_changed_weights_are_read_at_every_pass() -> None:
    policy, batch = make_lora(make_policy()), make_batch(SHAPES["shared prompts"])
    for _ in range(2):
        assert_equal(policy, batch)
        with torch.no_grad():
            for parameter in policy.trainable().values():
                parameter.add_(0.05 * torch.randn_like(parameter))


def kept_bytes(policy, batch: Batch) -> int:
    """What autograd keeps between forward and backward, parameters not counted."""
    own = {p.untyped_storage().data_ptr() for p in policy.model.parameters()}
    found: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        values = fused(policy, batch)
    assert values
    return sum(found.values())


def test_activations_that_are_computed_again_are_not_kept_and_change_no_gradient() -> None:
    batch = make_batch(SHAPES["shared prompts"])
    policy = make_policy(num_hidden_layers=6)
    before = gradients(policy, batch, fused(policy, batch))
    plainly = kept_bytes(policy, batch)
    TorchLearner(policy, LearnerOptions(gradient_checkpointing=True))
    assert kept_bytes(policy, batch) < plainly / 3
    after = gradients(policy, batch, fused(policy, batch))
    assert all(torch.equal(after[name], gradient) for name, gradient in before.items())


def distance(found: dict, right: dict) -> float:
    """Relative, over all gradients together."""
    off = sum(float((found[n].float() - right[n]).square().sum()) for n in right)
    return (off / sum(float(g.square().sum()) for g in right.values())) ** 0.5


@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_bfloat16_gradients_are_as_near_to_float32_as_those_of_the_modules(family) -> None:
    batch = make_batch(SHAPES["shared prompts"])

    def adapted(dtype: torch.dtype):
        policy = make_policy(family)
        policy.model.to(torch.bfloat16).to(dtype)
        return make_lora(policy)

    exact = adapted(torch.float32)
    right = gradients(exact, batch, plain(exact, batch))
    policy = adapted(torch.bfloat16)
    modules = distance(gradients(policy, batch, plain(policy, batch)), right)
    ours = distance(gradients(policy, batch, fused(policy, batch)), right)
    assert ours < 1.3 * modules < 0.1
