"""The update: gradients equal the plain reference, the first ratio is 1, state goes and comes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from evenodds.batch import collate
from evenodds.domain import Group, Limits, Problem, Status, Verdict
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import RECIPES, Tokens, make_objective
from evenodds.policies import Policy, head
from evenodds.reference import TorchReference
from evenodds.sampling.native import NativeSampler
from tests.tiny import hf_logprobs, make_lora, make_policy

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


def plain_gradients(policy, groups, objective) -> dict[str, torch.Tensor]:
    """Any objective, one answer at a time from whole logits: no padding, sharing or chunks."""
    batch = collate(groups, objective)
    policy.model.zero_grad()
    for prompt in batch.prompts:
        for answer in prompt.answers:
            ids = torch.from_numpy(np.concatenate([prompt.prompt_ids, answer.ids]))[None]
            logits = policy.model(input_ids=ids).logits[0].float() / batch.temperature
            start = len(prompt.prompt_ids) - 1
            every = logits.log_softmax(-1)[start:-1]
            logprobs = every.gather(-1, ids[0, start + 1 :, None])[:, 0]
            n = len(answer.ids)
            tokens = Tokens(
                logprobs,
                torch.from_numpy(answer.old_logprobs),
                torch.full((n,), answer.advantage),
                torch.zeros(n, dtype=torch.int64),
                torch.tensor([n]),
                logprobs.detach(),
                torch.from_numpy(answer.reference_logprobs),
                -(every.exp() * every).sum(-1),
            )
            objective.score(tokens, batch.extent).loss.backward()
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
    monkeypatch.setattr(head, "CHUNK_VALUES", 18 * 7)  # several chunks, the last one short
    policy = POLICIES[name]()
    groups = sampled(policy)
    objective = RECIPES["dr_grpo"]
    expected = reference_gradients(policy, groups, objective)
    found = learned_gradients(policy, groups, objective, micro_batch_tokens=budget)
    assert found.keys() == expected.keys()
    size = max(float(g.abs().max()) for g in expected.values())
    for key, gradient in expected.items():
        assert float((found[key] - gradient).abs().max()) < 1e-5 * size, key


FAMILY = {
    **{name: {"recipe": name, "mask_truncated": False} for name in RECIPES},
    "KL and entropy": {"recipe": "grpo", "kl": 0.3, "entropy": 0.1, "mask_truncated": False},
    "weighted KL, correction": {
        "recipe": "dapo", "kl": 0.3, "kl_weighted": True, "correction": "token_truncate",
    },
    "sequence correction, entropy": {
        "recipe": "gspo", "correction": "sequence_truncate", "entropy": 0.1, "clip_low": 0.2,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAMILY))
@pytest.mark.parametrize("budget", [40, 10_000])
def test_gradients_of_the_whole_family_are_those_of_plain_logits(name, budget, monkeypatch) -> None:
    """Off-policy, with a reference of its own, at another temperature and in several chunks."""
    monkeypatch.setattr(head, "CHUNK_VALUES", 18 * 7)
    policy = make_policy("qwen3")
    groups = sampled(make_policy("qwen3", seed=5), limits=Limits(16, temperature=0.8))
    groups = TorchReference(make_policy("qwen3", seed=7)).annotate(groups)
    objective = make_objective(**FAMILY[name])
    expected = plain_gradients(policy, groups, objective)
    found = learned_gradients(policy, groups, objective, micro_batch_tokens=budget)
    size = max(float(g.abs().max()) for g in expected.values())
    assert size > 1e-6
    assert found.keys() == expected.keys()
    for key, gradient in expected.items():
        assert float((found[key] - gradient).abs().max()) < 2e-5 * size, key


def test_an_update_writes_nothing_that_it_was_given() -> None:
    policy = make_policy("qwen3")
    groups = TorchReference(policy).annotate(sampled(policy))
    objective = make_objective(kl=0.1, correction="token_mask", mask_truncated=False)
    batch = collate(groups, objective)

    def arrays() -> list[np.ndarray]:
        held = [(a.ids, a.old_logprobs, a.reference_logprobs) for a in batch.answers]
        return [array.copy() for row in held for array in row]

    before = arrays()
    TorchLearner(policy, LearnerOptions(passes=2)).update(batch, objective)
    for one, two in zip(before, arrays(), strict=True):
        assert np.array_equal(one, two)
    assert all(answer.first_logprobs is None for answer in batch.answers)


def metrics_of(objective, groups, **options):
    learner = TorchLearner(make_policy("qwen3"), LearnerOptions(**options))
    return learner.update(collate(groups, objective), objective).metrics


def test_metrics_come_with_what_they_measure() -> None:
    groups = sampled(make_policy("qwen3"))
    plain = metrics_of(make_objective(mask_truncated=False), groups)
    assert not {name for name in plain if name.startswith(("kl", "entropy/coefficient"))} - {
        "kl_to_old/k1", "kl_to_old/k2", "kl_to_old/k3",
    }  # fmt: skip
    assert not any("importance" in name for name in plain)
    annotated = TorchReference(make_policy("qwen3", seed=3)).annotate(groups)
    everything = make_objective(kl=0.1, correction="token_mask", entropy=0.01, mask_truncated=False)
    more = metrics_of(everything, annotated)
    assert {"kl", "kl/k1", "kl/k2"} < more.keys()
    assert more["sampling/importance_sampling_ratio/mean"] == pytest.approx(1, abs=1e-5)
    assert (more["extent/tokens"], more["extent/rollouts"], more["extent/max_tokens"]) == (
        sum(r.ids.size for g in groups for r in g.rollouts), 18, 24,
    )  # fmt: skip


def test_a_correction_reports_the_weights_that_it_uses() -> None:
    """Of tokens, or one of each whole answer where that is the level."""
    groups = sampled(make_policy("qwen3", seed=5))
    policy = make_policy("qwen3")
    gaps = [
        hf_logprobs(policy.model, r.prompt_ids, r.ids) - r.logprobs
        for g in groups
        for r in g.rollouts
    ]
    weights = {
        "token_truncate": np.exp(np.concatenate(gaps)),
        "sequence_mask": np.exp(np.array([gap.sum() for gap in gaps])),
    }
    for name, expected in weights.items():
        objective = make_objective(correction=name, correction_cap=1.5, mask_truncated=False)
        found = metrics_of(objective, groups, micro_batch_tokens=60)
        prefix = "sampling/importance_sampling_ratio"
        assert found[f"{prefix}/mean"] == pytest.approx(expected.mean(), rel=1e-3)
        assert found[f"{prefix}/max"] == pytest.approx(expected.max(), rel=1e-3)
        assert found[f"{prefix}/capped"] == pytest.approx((expected > 1.5).mean())


def test_an_entropy_bonus_raises_the_entropy_of_the_policy() -> None:
    """Against the same updates without one."""
    entropies = {}
    for bonus in (0.0, 1.0):
        policy = make_policy("qwen3")
        groups = sampled(policy)
        objective = make_objective(entropy=bonus, mask_truncated=False)
        learner = TorchLearner(policy, LearnerOptions(learning_rate=3e-3, warmup_steps=0, passes=6))
        learner.update(collate(groups, objective), objective)
        entropies[bonus] = learner.update(collate(groups, objective), objective).metrics["entropy"]
    assert entropies[1.0] > entropies[0.0] + 0.05


def test_a_kl_in_the_loss_holds_the_policy_near_its_start() -> None:
    found = {}
    for kl in (0.0, 5.0):
        policy = make_policy("qwen3")
        reference = TorchReference(policy)
        groups = reference.annotate(sampled(policy))
        objective = make_objective(kl=kl, mask_truncated=False)
        options = LearnerOptions(learning_rate=1e-2, warmup_steps=0, passes=8)
        TorchLearner(policy, options).update(collate(groups, objective), objective)
        found[kl] = metrics_at(policy, groups)
    assert found[5.0] < 0.5 * found[0.0]


def metrics_at(policy, groups) -> float:
    """The KL to the reference where the policy stands now."""
    objective = make_objective(kl_in="measured", mask_truncated=False)
    learner = TorchLearner(policy, LearnerOptions())
    return learner.update(collate(groups, objective), objective).metrics["kl"]


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


def logprobs_of(policy, weights, groups) -> np.ndarray:
    """log pi of all answer tokens, in order, at weights that are given: by the model itself."""
    with torch.no_grad():
        for name, parameter in policy.trainable().items():
            parameter.copy_(weights[name])
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    found = [hf_logprobs(policy.model, r.prompt_ids, r.ids) for r in rollouts]
    return np.concatenate(found).astype(np.float64)


def recorded(learner) -> list[tuple[float, dict[str, torch.Tensor]]]:
    """Filled with the learning rate and the weights that every optimizer step starts from."""
    found: list[tuple[float, dict[str, torch.Tensor]]] = []
    step = learner.optimizer.step

    def stepped(*arguments):
        weights = {name: p.detach().clone() for name, p in learner.parameters.items()}
        found.append((learner.optimizer.param_groups[0]["lr"], weights))
        return step(*arguments)

    learner.optimizer.step = stepped
    return found


def test_three_passes_are_measured_where_they_stood() -> None:
    """By hand, from the weights of each pass: KL to the reference of the first, all else the last.

    The answers are another policy's, so that no figure is 0 in the first pass.
    """
    groups = TorchReference(make_policy("qwen3", seed=3)).annotate(
        sampled(make_policy("qwen3", seed=5))
    )
    objective = make_objective(kl_in="measured", mask_truncated=False)
    learner = TorchLearner(
        make_policy("qwen3"), LearnerOptions(learning_rate=2e-2, warmup_steps=5, passes=3)
    )
    steps = recorded(learner)
    metrics = learner.update(collate(groups, objective), objective).metrics

    first, _, last = (logprobs_of(make_policy("qwen3"), w, groups) for _, w in steps)
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    old = np.concatenate([r.logprobs for r in rollouts]).astype(np.float64)
    moved = last - old
    away = np.concatenate([r.reference_logprobs for r in rollouts]) - first
    expected = {
        "kl_to_old/k1": -moved.mean(),
        "kl_to_old/k2": (moved**2).mean() / 2,
        "kl_to_old/k3": (np.exp(moved) - moved - 1).mean(),
        "kl/k1": -away.mean(),
        "kl/k2": (away**2).mean() / 2,
        "kl": (np.exp(away) - away - 1).mean(),
        "ratio/mean": np.exp(moved).mean(),
        "sampling/sampling_logp_difference/mean": np.abs(first - old).mean(),
    }
    assert np.abs(last - first).mean() > 0.1  # the passes can be told apart
    for name, value in expected.items():
        assert metrics[name] == pytest.approx(value, rel=1e-4), name
    assert len(steps) == metrics["passes"] == 3


def test_the_learning_rate_warms_up_by_optimizer_steps_and_is_that_of_the_last_pass() -> None:
    """Five steps of warm-up: the first is a fifth of the rate, the fifth is all of it."""
    policy = make_policy("qwen3")
    groups = sampled(policy)
    objective = RECIPES["dr_grpo"]
    learner = TorchLearner(policy, LearnerOptions(learning_rate=0.1, warmup_steps=5, passes=3))
    steps = recorded(learner)
    batch = collate(groups, objective)
    told = [learner.update(batch, objective).metrics["learning_rate"] for _ in range(2)]
    assert [rate for rate, _ in steps] == pytest.approx([0.02, 0.04, 0.06, 0.08, 0.1, 0.1])
    assert told == pytest.approx([0.06, 0.1])


@pytest.mark.parametrize("bad", [-np.inf, np.nan])
def test_a_record_that_is_not_finite_skips_the_update_also_where_a_correction_hides_it(bad) -> None:
    """The ratio is then to the learner's own first pass, and the mask gives the token weight 0."""
    policy = make_policy("qwen3")
    groups = sampled(policy)
    groups[0].rollouts[0].logprobs[0] = bad
    objective = make_objective(correction="token_mask", mask_truncated=False)
    learner = TorchLearner(policy, LearnerOptions())
    before = {name: p.detach().clone() for name, p in learner.parameters.items()}
    update = learner.update(collate(groups, objective), objective)
    assert update.skipped is not None and update.skipped.answers == (0,)
    assert "sampler" in update.skipped.tensor
    assert all(torch.equal(p, before[name]) for name, p in learner.parameters.items())


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


@pytest.mark.parametrize("family", ["OPT", "Bloom"])
def test_checkpointed_activations_bring_no_dropout_back(family) -> None:
    """Training mode must not: these families call the function, and keep its rate as a number."""
    import transformers

    size = {"vocab_size": 18, "hidden_size": 32, "pad_token_id": 0}
    more = {
        "OPT": {"num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48, "dropout": 0.5},
        "Bloom": {"n_layer": 2, "n_head": 4, "hidden_dropout": 0.5, "attention_dropout": 0.5},
    }[family]
    config = getattr(transformers, f"{family}Config")(**size, **more)
    model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
    ids = torch.arange(2, 12)[None]
    before = model(input_ids=ids).logits
    TorchLearner(
        Policy(model, make_policy().codec, family, torch.device("cpu")),
        LearnerOptions(gradient_checkpointing=True),
    )
    assert model.training
    assert torch.allclose(model(input_ids=ids).logits, before, atol=1e-5)
