"""More mistakes of the same kinds, found in other libraries or by looking for them here.

Each test says in a sentence what goes wrong, and where it was seen if it was.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from evenodds.batch import advantages, collate
from evenodds.domain import Extent, Group, Limits, Problem, Status, Stop, Verdict
from evenodds.judge import ScriptedJudge
from evenodds.learner import LearnerOptions, TorchLearner, Update, ask
from evenodds.objectives import RECIPES, make_objective, shaped
from evenodds.policies.policy import Head, token_logprobs
from evenodds.reference import TorchReference
from evenodds.run.records import step_metrics
from evenodds.sampling.native import NativeSampler
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.step import State, StepConfig, Tools, train_step
from tests.golden.test_pitfalls import Listed, padded, sampled, token_gradients
from tests.tiny import make_group, make_lora, make_policy, make_rollout, rollout_rows


def gradient_of(objective, groups) -> dict[int, np.ndarray]:
    return token_gradients(collate(groups, objective), objective)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
def test_entropy_is_that_of_the_distribution_that_was_sampled_from(temperature) -> None:
    """The bonus described softmax(logits) while softmax(logits / T) was sampled: up to a nat off.

    OpenRLHF/OpenRLHF PR#1319; verl-project/verl#4162.
    """
    logits = torch.tensor([[2.0, 0.5, -1.0, 0.0]], requires_grad=True)
    _, entropy = token_logprobs(
        logits, Head(torch.nn.Identity()), torch.tensor([0]), temperature, True
    )
    expected = torch.distributions.Categorical(logits=logits / temperature).entropy()
    assert float(entropy.detach()) == pytest.approx(float(expected.detach()), abs=1e-6)
    (found,) = torch.autograd.grad(entropy.sum(), logits)
    (right,) = torch.autograd.grad(expected.sum(), logits)
    assert torch.allclose(found, right, atol=1e-6)


def test_entropy_of_real_rollouts_at_a_temperature() -> None:
    policy = make_policy()
    objective = make_objective(mask_truncated=False)
    groups = sampled(policy, Limits(12, temperature=0.5))
    metrics = (
        TorchLearner(policy, LearnerOptions()).update(collate(groups, objective), objective).metrics
    )
    (hot,) = padded(replace(collate(groups, objective), temperature=1.0))
    with torch.no_grad():
        _, plain = ask(make_policy(), hot, 1.0)
        _, cold = ask(make_policy(), hot, 0.5)
    assert metrics["entropy"] == pytest.approx(float(cold.mean()), abs=1e-5)
    assert abs(float(plain.mean() - cold.mean())) > 0.1


@pytest.mark.parametrize("make", [make_policy, lambda: make_lora(make_policy())])
def test_the_reference_does_not_move_with_the_policy(make) -> None:
    """The reference was updated each iteration, so that the KL never left 0. theLMbook#8."""
    policy = make()
    reference = TorchReference(policy)
    objective = make_objective(kl_in="measured", mask_truncated=False)
    learner = TorchLearner(policy, LearnerOptions(learning_rate=3e-2, warmup_steps=0))
    found = []
    for seed in range(3):
        groups = reference.annotate(sampled(policy, seed=seed))
        found.append(learner.update(collate(groups, objective), objective).metrics["kl"])
    assert found[0] == pytest.approx(0, abs=1e-9)
    assert found[1] > 1e-3 and found[2] > 1e-3


@pytest.mark.parametrize("correction", ["token_truncate", "sequence_mask"])
def test_first_log_probabilities_stay_those_from_before_the_first_update(correction) -> None:
    """Taken again in the second pass they would put every ratio back to 1, and let no clip act."""
    policy = make_policy()
    objective = make_objective(correction=correction, mask_truncated=False)
    groups = sampled(policy)
    options = LearnerOptions(learning_rate=2e-2, warmup_steps=0, passes=3)
    update = TorchLearner(policy, options).update(collate(groups, objective), objective)
    assert update.metrics["ratio/max"] > 1.01
    assert update.metrics["sampling/importance_sampling_ratio/max"] == pytest.approx(1, abs=1e-4)
    rollouts = [r for group in groups for r in group.rollouts]
    for index, values in update.logprobs.items():
        assert np.allclose(values, rollouts[index].logprobs, atol=1e-5)


def test_what_is_masked_is_not_in_the_batch_statistics() -> None:
    """A masked token moved the batch mean, and with it the loss of all others.

    MakazhanAlpamys/Soup#723; redai-studio/Relax PR#239.
    """
    objective = RECIPES["reinforce_pp"]
    group = make_group([1, 0, 0, 1], [2, 3, 4, 5])
    rollouts = [*group.rollouts[:3], replace(group.rollouts[3], stop=Stop.BUDGET)]
    short = [*rollouts[:3], make_rollout(60, stop=Stop.BUDGET)]
    one, other = (
        advantages([Group(group.problem, r, group.verdicts)], objective)[0]
        for r in (rollouts, short)
    )
    assert one[:3].tolist() == other[:3].tolist()
    weights = np.array([2, 3, 4])
    assert np.average(one[:3], weights=weights) == pytest.approx(0, abs=1e-12)


def test_an_answer_that_could_not_be_judged_is_no_wrong_answer() -> None:
    """None became 0 and lowered the mean of its group, or NaN and took the whole batch along.

    huggingface/trl PR#5773; modelscope/ms-swift#8123.
    """
    group = make_group([1, 1, 0, 0], [2, 2, 2, 2])
    for score in (0.0, np.nan, 1.0):
        verdicts = [*group.verdicts[:3], Verdict(score, Status.TIMEOUT)]
        unjudged = Group(group.problem, group.rollouts, verdicts)
        (credit,) = advantages([unjudged], make_objective())
        assert credit.tolist() == pytest.approx([1 / 3, 1 / 3, -2 / 3, 0.0])
        assert collate([unjudged], make_objective()).extent == Extent(6, 3, 64)
    agreed = Group(group.problem, group.rollouts[:3], [*verdicts[:2], verdicts[3]])
    assert not collate([agreed], make_objective()).prompts


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_an_empty_answer_and_an_empty_batch_divide_by_nothing(recipe) -> None:
    """0 / 0 reached the gradient where all was masked.

    unslothai/unsloth-zoo PR#1286; verl-project/verl PR#6508.
    """
    objective = RECIPES[recipe]
    group = make_group([1, 0, 1], [0, 3, 2])
    batch = collate([group], objective)
    assert batch.extent == Extent(5, 2, 64)
    found = gradient_of(objective, [group])
    assert sorted(found) == [1, 2]
    assert all(np.isfinite(values).all() for values in found.values())
    cut = [replace(r, stop=Stop.BUDGET) for r in group.rollouts]
    masked = replace(objective, mask_truncated=True, overlong=0.0)
    nothing = collate([Group(group.problem, cut, group.verdicts)], masked)
    assert (nothing.prompts, nothing.extent) == ((), Extent(0, 0, 64))


@pytest.mark.parametrize("recipe", ["dapo", "cispo", "grpo", "dr_grpo"])
def test_masked_truncated_answers_are_in_no_denominator(recipe) -> None:
    """They left the numerator only: the loss was sum / 30 instead of sum / 25.

    huggingface/trl#6369.
    """
    objective = make_objective(recipe, mask_truncated=True, overlong=0.0)
    group = make_group([1, 0, 0], [10, 15, 5])
    rollouts = [*group.rollouts[:2], replace(group.rollouts[2], stop=Stop.BUDGET)]
    batch = collate([Group(group.problem, rollouts, group.verdicts)], objective)
    assert batch.extent == Extent(25, 2, 64)
    weights = {
        "dapo": [1 / 25, 1 / 25],
        "cispo": [1 / 25, 1 / 25],
        "grpo": [1 / 20, 1 / 30],
        "dr_grpo": [1 / 128, 1 / 128],
    }
    for index, values in token_gradients(batch, objective).items():
        expected = -weights[recipe][index] * batch.answers[index].advantage
        assert values == pytest.approx(expected, rel=1e-6)


def test_a_truncated_answer_keeps_its_score_in_the_groups_mean() -> None:
    """Other libraries differ here (NVIDIA-NeMo/RL PR#3467 leaves it out); ours is a rule."""
    group = make_group([1, 1, 0, 0], [2, 2, 2, 2])
    rollouts = [
        group.rollouts[0], replace(group.rollouts[1], stop=Stop.BUDGET), *group.rollouts[2:]
    ]  # fmt: skip
    batch = collate([Group(group.problem, rollouts, group.verdicts)], make_objective())
    assert [a.advantage for a in batch.answers] == [0.5, -0.5, -0.5]


def test_dual_clip_does_nothing_to_good_answers() -> None:
    """max(., c·A) where A > 0 is a huge reward for doing nothing. thu-ml/tianshou#433."""
    plain, dual = make_objective("grpo"), make_objective("dual_clip")
    group = make_group([1, 0], [3, 3])
    far = [replace(r, logprobs=r.logprobs - 3) for r in group.rollouts]  # the policy moved by 3
    batch = collate([Group(group.problem, far, group.verdicts)], plain)
    (micro,) = padded(batch)
    values = []
    for objective in (plain, dual):
        logprobs = (micro.old_logprobs + 3).requires_grad_()
        tokens = micro.tokens(logprobs)
        value = objective.value(objective.log_ratio(tokens), tokens)
        values.append([value[tokens.advantages > 0], value[tokens.advantages < 0]])
    assert values[0][0].tolist() == values[1][0].tolist() == pytest.approx([1.2] * 3)
    assert values[0][1].tolist() == pytest.approx([-float(np.exp(3))] * 3, rel=1e-6)
    assert values[1][1].tolist() == pytest.approx([-3.0] * 3)


def test_the_minimum_is_taken_after_the_advantage() -> None:
    """min(rho, clip(rho)) · A never clips a wrong answer from below. takuseno/ppo#3."""
    group = make_group([1, 0], [1, 1])
    low = [replace(r, logprobs=r.logprobs + np.float32(1)) for r in group.rollouts]
    batch = collate([Group(group.problem, low, group.verdicts)], RECIPES["dr_grpo"])
    (micro,) = padded(batch)
    tokens = micro.tokens((micro.old_logprobs - 1).requires_grad_())
    scored = RECIPES["dr_grpo"].score(tokens, batch.extent)
    (gradient,) = torch.autograd.grad(scored.loss, tokens.logprobs)
    good = tokens.advantages > 0
    assert scored.clipped.tolist() == (~good).tolist()
    assert (gradient == 0).tolist() == (~good).tolist()


def test_clip_shares_count_where_the_gradient_is_cut_and_by_sign() -> None:
    """They counted the other side: where the ratio is out and the gradient goes on.

    huggingface/trl#3032, PR#3175.
    """
    policy = make_policy()
    objective = make_objective("grpo", clip_low=0.05, clip_high=0.05, mask_truncated=False)
    batch = collate(sampled(policy), objective)
    options = LearnerOptions(learning_rate=3e-2, warmup_steps=0)
    learner = TorchLearner(policy, options)
    learner.update(batch, objective)  # from here on the policy stands apart from the sampler's
    (micro,) = padded(batch)
    with torch.no_grad():
        logprobs, _ = ask(policy, micro, batch.temperature)
    ratio, good = (logprobs - micro.old_logprobs).exp(), micro.advantages > 0
    metrics = learner.update(batch, objective).metrics
    high, low = (ratio > 1.05)[good].float().mean(), (ratio < 0.95)[~good].float().mean()
    assert float(high) > 0.1 and float(low) > 0.1
    assert metrics["clip_ratio/high_mean"] == pytest.approx(float(high))
    assert metrics["clip_ratio/low_mean"] == pytest.approx(float(low))
    wrong = ((ratio < 0.95)[good]).float().mean()
    assert metrics["clip_ratio/high_mean"] != pytest.approx(float(wrong))


def test_gspo_counts_an_answer_once_however_long() -> None:
    """A value a sequence was broadcast over its tokens and summed. huggingface/trl#3823."""
    objective = RECIPES["gspo"]
    found = gradient_of(objective, [make_group([1, 0], [2, 50])])
    sums = [float(found[i].sum()) for i in range(2)]
    assert sums == pytest.approx([-0.5, 0.5], rel=1e-5)


def test_a_sequence_correction_is_a_product_not_a_mean() -> None:
    """One library was asked to take the mean (huggingface/trl#5814): that is another quantity.

    The weight that makes an expectation unbiased is the product over the answer.
    """
    objective = make_objective(correction="sequence_truncate", correction_cap=100.0)
    group = make_group([1, 0], [4, 4])
    (micro,) = padded(collate([group], objective))
    tokens = replace(
        micro.tokens(micro.old_logprobs.clone()), first_logprobs=micro.old_logprobs + 0.5
    )
    weight = objective.correction(tokens)
    assert weight.tolist() == pytest.approx([float(np.exp(2.0))] * 8, rel=1e-5)


@pytest.mark.parametrize("correction", ["token_mask", "sequence_truncate"])
def test_no_gradient_goes_through_a_corrections_weight(correction) -> None:
    """In the first pass first and current are one tensor: its gradient would double, or vanish."""
    objective = make_objective("rloo", correction=correction, correction_cap=1e6)
    group = make_group([1, 0], [2, 2])
    batch = collate([group], objective)
    (micro,) = padded(batch)
    logprobs = (micro.old_logprobs + 0.5).requires_grad_()
    tokens = micro.tokens(logprobs)  # the first pass: the learner's own are its first ones
    assert not tokens.first_logprobs.requires_grad
    (gradient,) = torch.autograd.grad(-objective.score(tokens, batch.extent).loss, logprobs)
    weight = np.exp(0.5 if correction == "token_mask" else 1.0)
    expected = weight * tokens.advantages / (2 * 64)
    assert gradient.tolist() == pytest.approx(expected.tolist(), rel=1e-5)


def wrong_answers(lengths) -> Group:
    return make_group([0] * len(lengths), lengths)


def test_dapo_drops_a_group_by_its_answers_not_by_their_lengths() -> None:
    """All wrong, of different lengths: the overlong penalty made a signal of nothing.

    Short wrong answers were then paid. NVIDIA-NeMo/RL#2431; verl-project/verl-recipe PR#125.
    """
    objective = RECIPES["dapo"]
    groups = [wrong_answers([2, 63]), make_group([1, 0], [2, 63])]
    batch = collate([shaped(group, objective) for group in groups], objective)
    assert [answer.index for answer in batch.answers] == [2, 3]


def steps_of(script, problems, objective, rounds=1, groups=2, size=4):
    """One step with fakes: answers by the script, right where they are the problem's answer."""

    class Remembers:
        batches: list = []  # noqa: RUF012

        def update(self, batch, objective):
            self.batches = [*self.batches, batch]
            return Update({"entropy": 0.0}, {a.index: a.old_logprobs for a in batch.answers})

        def weights(self):
            return None

    class Judge:
        def judge(self, problems, rollouts):
            return [
                [Verdict(float(r.text == p.answer), Status.RIGHT if r.text == p.answer
                         else Status.WRONG) for r in row]
                for p, row in zip(problems, rollouts, strict=True)
            ]  # fmt: skip

    learner = Remembers()
    tools = Tools(ScriptedSampler(script), Judge(), learner)
    state = State(Listed(problems))
    after, report = train_step(
        state, tools, StepConfig(groups, size, Limits(8), objective, rounds=rounds)
    )
    return after, report, learner, state


def coin(prompt, rng) -> str:
    return "1" if rng.random() < 0.5 else "0"


def seldom(prompt, rng) -> str:
    return "1" if rng.random() < 0.1 else "0"


def test_the_same_problem_refilled_is_a_group_of_its_own() -> None:
    """Drawn again in a later round its answers are compared with each other, not with the first."""
    problem = Problem("k", "q", "1", "t")
    made = steps_of(seldom, (problem,), RECIPES["dapo"], rounds=50, groups=1, size=2)
    _, report, learner, _ = made
    assert len(report.groups) == report.rounds > 1
    assert all(g.problem.key == "k" and len(g.rollouts) == 2 for g in report.groups)
    seeds = [r.seed for g in report.groups for r in g.rollouts]
    assert len(set(seeds)) == len(seeds)  # drawn anew, not again
    for group, credit in zip(
        report.groups, advantages(report.groups, RECIPES["dapo"]), strict=True
    ):
        assert credit.sum() == pytest.approx(0)
        assert credit.any() == group.is_informative
    (batch,) = learner.batches
    assert batch.extent.rollouts == 2


def test_a_refilled_step_counts_what_it_refused() -> None:
    """Only accepted groups were logged and seen, so that the solve rate was that of the mixed.

    modelscope/ms-swift PR#5619 turned that about; areal-project/AReaL#450 asks for full batches.
    """
    problems = (Problem("never", "never", "2", "t"), Problem("coin", "coin", "1", "t"))
    after, report, learner, _ = steps_of(coin, problems, RECIPES["dapo"], rounds=3)
    keys = [g.problem.key for g in report.groups]
    assert keys.count("never") == report.rounds == 3
    assert after.curriculum.seen == (tuple(keys),)
    assert after.tokens == sum(r.ids.size for g in report.groups for r in g.rollouts)
    rows = rollout_rows(1, report, "v", [""] * len(keys))
    assert len(rows) == 4 * len(keys)
    assert {row["why"] for row in rows if row["problem_key"] == "never"} == {"its group agreed"}
    assert [row["kept"] for row in rows].count(True) == learner.batches[0].extent.rollouts


def test_a_kl_in_the_reward_is_in_no_solve_rate() -> None:
    """A penalty makes a reward smaller; it makes no right answer wrong."""
    objective = make_objective("rloo", kl=0.5, kl_in="reward", mask_truncated=False)

    class Far:
        def annotate(self, groups):
            return [
                Group(
                    g.problem,
                    [
                        replace(r, reference_logprobs=r.logprobs - 2 * i)
                        for i, r in enumerate(g.rollouts)
                    ],
                    g.verdicts,
                )
                for g in groups
            ]

    problem = Problem("k", "q", "1", "t")
    learner = TorchLearner(make_policy(), LearnerOptions())
    policy_groups = sampled(learner.policy)

    class Sampler:
        def sample(self, prompts, size, limits, seed, finished=None):
            return [policy_groups[0].rollouts]

        def load(self, weights, version): ...

    tools = Tools(Sampler(), ScriptedJudge({"k": [1.0, 1.0, 0.0, 1.0]}), learner, Far())
    before = State(Listed((problem,)))
    after, report = train_step(before, tools, StepConfig(1, 4, Limits(16), objective))
    after = replace(after, curriculum=Metrics())
    metrics = step_metrics(replace(before, curriculum=Metrics()), after, report)
    assert metrics["solve_rate/all"] == 0.75
    assert metrics["status/right"] == 0.75
    assert metrics["reward"] < 0.75
    assert metrics["reward/score"] == 0.75
    assert metrics["reward/kl"] == pytest.approx(metrics["reward"] - 0.75)


class Metrics:
    """A curriculum that measures nothing."""

    def metrics(self):
        return {}


def test_a_log_probability_that_is_no_number_stays_one_in_a_kl_in_the_reward() -> None:
    """NaN is not larger than anything: its group seemed to agree, and left the loss in silence."""
    objective = make_objective(kl=0.1, kl_in="reward")
    group = make_group([1, 0], [3, 3])
    bad = np.array([-1.0, np.nan, -1.0], np.float32)
    rollouts = [replace(r, reference_logprobs=r.logprobs) for r in group.rollouts]
    rollouts[0] = replace(rollouts[0], logprobs=bad)
    paid = shaped(Group(group.problem, rollouts, group.verdicts), objective)
    batch = collate([paid, make_group([1, 0], [3, 3])], objective)
    assert [bool(np.isnan(a.advantage)) for a in batch.answers] == [True, True, False, False]


def test_a_group_may_be_split_over_micro_batches() -> None:
    """A baseline or a count taken in a micro-batch would not be that of the group."""
    policy = make_policy()
    objective = make_objective(mask_truncated=False)
    batch = collate(sampled(policy, size=6), objective)
    gradients = []
    for budget in (20, 10_000):
        learner = TorchLearner(make_policy(), LearnerOptions(micro_batch_tokens=budget))
        done = learner._backward(batch, objective)
        gradients.append({n: p.grad.clone() for n, p in learner.parameters.items()})
        assert (done.micro_batches > 6) == (budget == 20)
    for name, gradient in gradients[0].items():
        assert torch.allclose(gradient, gradients[1][name], atol=1e-6), name


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_on_policy_every_recipe_has_a_gradient(recipe) -> None:
    """A ratio that is one by construction, exp(x - x), had none, and nobody saw: mlx-lm-lora#55."""
    found = gradient_of(RECIPES[recipe], [make_group([1, 0], [3, 5])])
    expected = {"reinforce": [True, False]}.get(recipe, [True, True])
    assert [bool(found[i].any()) for i in range(2)] == expected


def test_rewards_that_differ_by_float_noise_do_not_pass_the_filter() -> None:
    """Dynamic sampling filtered on std != 0, which noise is. NVIDIA-NeMo/RL PR#4158."""
    noisy = make_group([0.3, 0.3 + 1e-9, 0.3, 0.3], [2] * 4)
    assert np.std(noisy.rewards) != 0
    assert not noisy.is_informative
    assert not collate([noisy], RECIPES["dapo"]).prompts


def test_rollouts_of_an_older_policy_are_seen_in_the_ratio() -> None:
    """Log-probabilities recomputed by the learner would hide that another policy sampled."""
    old, policy = make_policy(seed=5), make_policy()
    rows = NativeSampler(old).sample(["12*34="], 4, Limits(12), 0)
    verdicts = [Verdict(float(i % 2), Status.WRONG) for i in range(4)]
    objective = make_objective(mask_truncated=False)
    batch = collate([Group(Problem("k", "", "", "t"), rows[0], verdicts)], objective)
    metrics = TorchLearner(policy, LearnerOptions()).update(batch, objective).metrics
    assert metrics["ratio/max"] - metrics["ratio/min"] > 0.1
