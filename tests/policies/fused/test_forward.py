"""The learner's forward pass against the model's own modules: values, and gradients above all."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from evenodds.batch import Answer, Batch, PromptAnswers
from evenodds.domain import Extent
from evenodds.learner import ask, asked
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
