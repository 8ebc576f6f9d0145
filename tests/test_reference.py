"""The reference: a frozen copy of where training started, whatever happens to the policy later."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import torch

from evenodds.batch import collate
from evenodds.domain import Group, Limits, Problem, Status, Verdict
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import make_objective
from evenodds.reference import TorchReference
from evenodds.sampling.native import NativeSampler
from tests.run.small_runs import Quiet, assert_equal_runs, lines, run
from tests.tiny import hf_logprobs, make_group, make_lora, make_policy, make_rollout

POLICIES = {
    "qwen3": lambda: make_policy("qwen3"),
    "llama, tied": lambda: make_policy("llama", tie_word_embeddings=True),
    "warm adapter": lambda: make_lora(make_policy("qwen3")),
    "cold adapter": lambda: make_lora(make_policy("qwen3"), warm=False),
    "gpt2": lambda: make_policy("gpt2"),
}


def sampled(policy, seed=0, limits=None) -> list[Group]:
    prompts = ["12*34=", "7*8="]
    rows = NativeSampler(policy).sample(prompts, 4, limits or Limits(12), seed)
    verdicts = [Verdict(float(i % 2), Status.WRONG) for i in range(4)]
    return [
        Group(Problem(p, p, "", "t"), row, verdicts) for p, row in zip(prompts, rows, strict=True)
    ]


def moved(policy) -> None:
    """Updates that change every trainable parameter."""
    objective = make_objective(mask_truncated=False)
    learner = TorchLearner(policy, LearnerOptions(learning_rate=3e-2, warmup_steps=0))
    for seed in range(2):
        learner.update(collate(sampled(policy, seed), objective), objective)


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_frozen_policy_shares_what_does_not_learn_and_copies_what_does(name) -> None:
    policy = POLICIES[name]()
    frozen = policy.frozen()
    copies = dict(frozen.model.named_parameters())
    for key, parameter in policy.model.named_parameters():
        is_same = copies[key].data_ptr() == parameter.data_ptr()
        assert is_same == (not parameter.requires_grad), key
        assert torch.equal(copies[key], parameter), key
    assert not frozen.trainable()
    assert policy.trainable()  # the policy itself still learns
    assert not frozen.is_adapter
    assert not any(module.training for module in frozen.model.modules())


def test_weights_that_are_tied_stay_tied_in_the_copy() -> None:
    model = make_policy("llama", tie_word_embeddings=True).frozen().model
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_annotated_log_probabilities_are_those_of_the_start_and_stay(name) -> None:
    policy = POLICIES[name]()
    reference = TorchReference(policy, micro_batch_tokens=40)
    groups = sampled(policy)
    before = [hf_logprobs(policy.model, r.prompt_ids, r.ids) for g in groups for r in g.rollouts]
    first = reference.annotate(groups)
    moved(policy)
    later = reference.annotate(groups)
    for start, one, two in zip(
        before,
        [r for g in first for r in g.rollouts],
        [r for g in later for r in g.rollouts],
        strict=True,
    ):
        assert np.abs(one.reference_logprobs - start).max() < 1e-5
        assert np.array_equal(one.reference_logprobs, two.reference_logprobs)
    after = [hf_logprobs(policy.model, r.prompt_ids, r.ids) for g in groups for r in g.rollouts]
    assert max(np.abs(a - b).max() for a, b in zip(after, before, strict=True)) > 0.01


def test_the_base_of_an_adapter_is_not_written_by_learning() -> None:
    policy = make_lora(make_policy("qwen3"))
    base = {n: p.clone() for n, p in policy.model.named_parameters() if not p.requires_grad}
    reference = TorchReference(policy)
    moved(policy)
    kept = dict(reference.policy.model.named_parameters())
    for name, value in base.items():
        assert torch.equal(kept[name], value), name


def test_it_is_asked_at_the_temperature_of_the_rollouts() -> None:
    policy = make_policy("qwen3")
    (group, _) = TorchReference(policy).annotate(sampled(policy, limits=Limits(12, 0.5)))
    for rollout in group.rollouts:
        assert np.abs(rollout.reference_logprobs - rollout.logprobs).max() < 1e-5


@pytest.mark.parametrize("family", ["qwen3", "gpt2"])
@pytest.mark.parametrize("budget", [1, 30, 10_000])
def test_every_answer_gets_its_own_and_groups_stay_in_order(family, budget) -> None:
    """Answers that were cut or not judged too; an empty one gets none."""
    policy = make_policy(family)
    lengths = [3, 0, 7, 1]
    group = make_group([1, 0, 0, 1], lengths, "a")
    verdicts = [*group.verdicts[:2], Verdict(0.0, Status.TIMEOUT), group.verdicts[3]]
    other = make_group([1], [5], "b")
    empty = make_group([0, 0], [0, 0], "c")
    groups = [Group(group.problem, group.rollouts, verdicts), empty, other]
    found = TorchReference(policy, budget).annotate(groups)
    assert [g.problem.key for g in found] == ["a", "c", "b"]
    assert [g.verdicts for g in found] == [g.verdicts for g in groups]
    for before, after in zip(groups, found, strict=True):
        for one, two in zip(before.rollouts, after.rollouts, strict=True):
            assert one.reference_logprobs is None  # what was given is not written
            assert two.reference_logprobs.shape == one.ids.shape
            if one.ids.size:
                plain = hf_logprobs(policy.model, one.prompt_ids, one.ids)
                assert np.abs(two.reference_logprobs - plain).max() < 1e-5


def test_nothing_but_empty_answers_asks_nothing() -> None:
    (group,) = TorchReference(make_policy()).annotate([make_group([0, 0], [0, 0])])
    assert [r.reference_logprobs.size for r in group.rollouts] == [0, 0]


def test_a_policy_that_recomputes_its_activations_has_a_reference_too() -> None:
    """The learner is made first in a run: its hooks are on the model that is copied."""
    policy = make_lora(make_policy("qwen3"))
    learner = TorchLearner(policy, LearnerOptions(gradient_checkpointing=True))
    reference = TorchReference(policy)
    objective = make_objective(kl=0.1, mask_truncated=False)
    groups = reference.annotate(sampled(policy))
    metrics = learner.update(collate(groups, objective), objective).metrics
    assert metrics["kl"] == pytest.approx(0, abs=1e-9)
    assert metrics["ratio/max"] == pytest.approx(1, abs=1e-5)


def test_the_kl_is_of_the_policy_that_learns_to_the_start() -> None:
    """k1, k2 and k3 by their definitions, on the tokens in the loss."""
    policy, start = make_policy("qwen3"), make_policy("qwen3", seed=3)
    groups = TorchReference(start).annotate(sampled(policy))
    objective = make_objective(kl_in="measured", mask_truncated=False)
    metrics = (
        TorchLearner(policy, LearnerOptions()).update(collate(groups, objective), objective).metrics
    )
    gap = np.concatenate([r.reference_logprobs - r.logprobs for g in groups for r in g.rollouts])
    assert metrics["kl"] == pytest.approx((np.exp(gap) - gap - 1).mean(), rel=1e-4)
    assert metrics["kl/k1"] == pytest.approx(-gap.mean(), rel=1e-4)
    assert metrics["kl/k2"] == pytest.approx((gap**2).mean() / 2, rel=1e-4)


def test_a_measured_kl_changes_no_gradient_and_one_in_the_loss_does() -> None:
    start = make_policy("qwen3", seed=3)
    weights = {}
    for place, kl in (("none", None), ("measured", None), ("loss", 0.5), ("reward", 0.05)):
        policy = make_policy("qwen3")
        objective = make_objective(kl=kl, kl_in=place, mask_truncated=False)
        groups = TorchReference(start).annotate(sampled(policy))
        learner = TorchLearner(policy, LearnerOptions(warmup_steps=0))
        learner.update(collate(groups, objective), objective)
        weights[place] = torch.cat([p.detach().flatten() for p in learner.parameters.values()])
    assert torch.equal(weights["none"], weights["measured"])
    assert not torch.equal(weights["none"], weights["loss"])
    assert torch.equal(weights["none"], weights["reward"])  # which `shaped` would have paid


@pytest.mark.parametrize("adapter", ["none", "lora"])
def test_a_run_with_a_kl_goes_on_bit_for_bit_with_the_same_reference(tmp_path, adapter) -> None:
    """A reference that was made after the restore would be the policy at the stop: a KL of 0."""
    over = {
        "policy__adapter": adapter,
        "policy__rank": 4,
        "objective__kl": 0.1,
        "sampling__groups": 4,
        "learner__learning_rate": 1e-3,
        "evaluation__levels": [0],
        "curriculum__start": 0.5,
    }
    whole = run(tmp_path / "whole", **over)

    def stop(step: int) -> None:
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    assert run(tmp_path / "parts", view=Quiet(stop), **over).steps == 2
    parts = run(tmp_path / "parts", **over)
    assert_equal_runs(whole.folder, parts.folder)
    found = [row["kl"] for row in lines(parts.folder) if "kl" in row]
    assert found[0] == pytest.approx(0, abs=1e-8)
    assert found[-1] > 1e-6


def test_an_answer_keeps_all_else_that_it_had() -> None:
    rollout = make_rollout(4, seed=2, version=3)
    group = Group(Problem("k", "", "", "t"), [rollout], [Verdict(1.0, Status.RIGHT)])
    (found,) = TorchReference(make_policy()).annotate([group])[0].rollouts
    assert (found.version, found.text, found.stop) == (3, rollout.text, rollout.stop)
    assert found.ids is rollout.ids and found.logprobs is rollout.logprobs
