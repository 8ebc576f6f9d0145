"""The update: gradients equal the plain reference, the first ratio is 1, state goes and comes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from evenodds.batch import collate
from evenodds.domain import Group, Limits, Problem, Status, Verdict
from evenodds.errors import RunError
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import RECIPES, make_objective
from evenodds.policies import policy as policies
from evenodds.sampling.native import NativeSampler
from tests.tiny import make_lora, make_policy

PROMPTS = ["12*34=", "7*8=", "123*4567="]


def sampled(policy, seed=0, group_size=6, limits=None) -> list[Group]:
    """Real rollouts with rewards at random: half of each group is right."""
    limits = limits or Limits(24)
    groups = []
    for prompt, rollouts in zip(
        PROMPTS, NativeSampler(policy).sample(PROMPTS, group_size, limits, seed), strict=True
    ):
        verdicts = [
            Verdict(float(i % 2), Status.RIGHT if i % 2 else Status.WRONG)
            for i in range(group_size)
        ]
        groups.append(Group(Problem(prompt, prompt, "1", "t"), rollouts, verdicts))
    return groups


def reference_gradients(policy, groups, objective) -> dict[str, torch.Tensor]:
    """One answer at a time, no padding, no sharing, whole logits, straight from the formula."""
    batch = collate(groups, objective)
    policy.model.zero_grad()
    total = torch.zeros(())
    for prompt in batch.prompts:
        for answer in prompt.answers:
            ids = torch.from_numpy(np.concatenate([prompt.prompt_ids, answer.ids]))[None]
            logits = policy.model(input_ids=ids).logits[0].float() / batch.temperature
            start = len(prompt.prompt_ids) - 1
            logprobs = logits.log_softmax(-1)[start:-1].gather(-1, ids[0, start + 1 :, None])[:, 0]
            ratio = (logprobs - torch.from_numpy(answer.old_logprobs)).exp()
            clipped = ratio.clamp(0.8, 1.28)
            value = torch.minimum(ratio * answer.advantage, clipped * answer.advantage)
            total = total - value.sum() / (batch.extent.rollouts * batch.extent.max_tokens)
    total.backward()
    return {name: p.grad.clone() for name, p in policy.trainable().items() if p.grad is not None}


def learned_gradients(policy, groups, objective, **options) -> dict[str, torch.Tensor]:
    learner = TorchLearner(policy, LearnerOptions(**options))
    learner.optimizer.zero_grad()
    learner._backward(collate(groups, objective), objective)
    return {name: p.grad.clone() for name, p in policy.trainable().items() if p.grad is not None}


POLICIES = {
    "qwen3": lambda: make_policy("qwen3"),
    "llama, tied": lambda: make_policy("llama", tie_word_embeddings=True),
    "lora": lambda: make_lora(make_policy("qwen3")),
    "gpt2": lambda: make_policy("gpt2"),
    "gemma2": lambda: make_policy("gemma2", sliding_window=4),
}


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("budget", [40, 10_000])
def test_gradients_are_those_of_the_plain_formula(name, budget, monkeypatch) -> None:
    monkeypatch.setattr(policies, "CHUNK_VALUES", 18 * 7)  # several chunks, the last one short
    policy = POLICIES[name]()
    groups = sampled(policy)
    objective = RECIPES["dr_grpo"]
    expected = reference_gradients(policy, groups, objective)
    found = learned_gradients(policy, groups, objective, micro_batch_tokens=budget)
    assert found.keys() == expected.keys()
    size = max(float(g.abs().max()) for g in expected.values())
    for key, gradient in expected.items():
        assert float((found[key] - gradient).abs().max()) < 1e-5 * size, key


def test_checkpointed_activations_give_the_same_gradients() -> None:
    policy = make_policy("qwen3")
    groups = sampled(policy)
    plain = learned_gradients(policy, groups, RECIPES["dr_grpo"])
    saved = learned_gradients(policy, groups, RECIPES["dr_grpo"], gradient_checkpointing=True)
    for key, gradient in plain.items():
        assert torch.allclose(saved[key], gradient, atol=1e-7), key


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_the_first_ratio_is_one_also_after_an_update(name) -> None:
    policy = POLICIES[name]()
    learner = TorchLearner(policy, LearnerOptions(learning_rate=1e-2, warmup_steps=0))
    for seed in range(2):
        metrics = learner.update(
            collate(sampled(policy, seed), RECIPES["dr_grpo"]), RECIPES["dr_grpo"]
        ).metrics
        assert metrics["sampling/sampling_logp_difference/max"] < 1e-5
        assert metrics["ratio/min"] == pytest.approx(1, abs=1e-5)
        assert metrics["ratio/max"] == pytest.approx(1, abs=1e-5)


def test_the_first_ratio_is_one_at_any_temperature() -> None:
    policy = make_policy("qwen3")
    groups = sampled(policy, limits=Limits(24, temperature=0.7))
    metrics = (
        TorchLearner(policy, LearnerOptions())
        .update(collate(groups, RECIPES["dr_grpo"]), RECIPES["dr_grpo"])
        .metrics
    )
    assert metrics["ratio/max"] == pytest.approx(1, abs=1e-5)


def test_the_denominator_is_what_the_sampler_recorded() -> None:
    """Records of another policy show in the ratio: it is not recomputed by the learner."""
    policy = make_policy("qwen3")
    groups = sampled(make_policy("qwen3", seed=5))
    metrics = (
        TorchLearner(policy, LearnerOptions())
        .update(collate(groups, RECIPES["dr_grpo"]), RECIPES["dr_grpo"])
        .metrics
    )
    assert metrics["sampling/sampling_logp_difference/mean"] > 0.05


def test_several_passes_move_the_ratio_and_count_as_updates() -> None:
    policy = make_policy("qwen3")
    learner = TorchLearner(policy, LearnerOptions(learning_rate=1e-2, warmup_steps=0, passes=3))
    update = learner.update(collate(sampled(policy), RECIPES["dr_grpo"]), RECIPES["dr_grpo"])
    assert learner.updates == 3
    assert update.metrics["ratio/max"] > 1.01
    assert update.metrics["sampling/sampling_logp_difference/max"] < 1e-5  # of the first pass


def test_an_update_raises_what_was_right_and_lowers_what_was_wrong() -> None:
    policy = make_policy("qwen3")
    groups = sampled(policy, group_size=2)
    objective = make_objective("rloo", mask_truncated=False)
    learner = TorchLearner(policy, LearnerOptions(learning_rate=1e-3, warmup_steps=0))
    batch = collate(groups, objective)
    before = learner.update(batch, objective).logprobs
    after = learner.update(batch, objective).logprobs
    change = [
        float((after[i] - before[i]).sum()) * a.advantage for i, a in enumerate(batch.answers)
    ]
    assert sum(change) > 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_ends_the_update_with_finite_weights(bad) -> None:
    policy = make_policy("qwen3")
    groups = sampled(policy)
    groups[0].rollouts[0].logprobs[0] = -bad
    learner = TorchLearner(policy, LearnerOptions())
    with pytest.raises(RunError, match="not finite"):
        learner.update(
            collate(groups, make_objective(surrogate="reinforce", mask_truncated=False)),
            make_objective(surrogate="reinforce", mask_truncated=False),
        )
    assert all(torch.isfinite(p).all() for p in policy.model.parameters())


def test_state_and_restore_continue_bit_for_bit() -> None:
    objective = RECIPES["dr_grpo"]

    def weights(policy):
        return {name: p.detach().clone() for name, p in policy.trainable().items()}

    one = make_policy("qwen3")
    learner = TorchLearner(one, LearnerOptions())
    groups = sampled(one)
    learner.update(collate(groups, objective), objective)
    middle, (tensors, counts) = weights(one), learner.state()
    tensors = {key: value.clone() for key, value in tensors.items()}
    learner.update(collate(groups, objective), objective)
    two = make_policy("qwen3", seed=9)
    with torch.no_grad():
        for name, parameter in two.trainable().items():
            parameter.copy_(middle[name])
    other = TorchLearner(two, LearnerOptions())
    other.restore(tensors, counts)
    other.update(collate(groups, objective), objective)
    for name, value in weights(one).items():
        assert torch.equal(value, weights(two)[name]), name
