"""Mistakes that other libraries made, each run against our own code.

The numbers are those of pitfalls.jsonl: what is right, and the wrong value that was seen. Where the
wrong way is short it is taken here too, so that the case is known to tell the two apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from evenodds.batch import collate, lay_out
from evenodds.credit import CREDITS, leave_one_out, standardized
from evenodds.domain import Extent, Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.errors import UsageError
from evenodds.judge import ScriptedJudge
from evenodds.lab.abacus_model import make_tokenizer
from evenodds.learner import LearnerOptions, TorchLearner, ask
from evenodds.objectives import RECIPES, Tokens, make_objective, shaped
from evenodds.objectives.correction import CORRECTIONS
from evenodds.objectives.penalty import KL
from evenodds.policies.codec import Codec
from evenodds.policies.load import PolicyOptions, load_policy
from evenodds.policies.policy import Head, token_logprobs
from evenodds.reference import TorchReference
from evenodds.sampling.native import NativeSampler, Pages, draw
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.step import State, StepConfig, Tools, train_step
from tests.tiny import hf_logprobs, make_group, make_lora, make_policy, make_rollout

FILE = Path(__file__).parent / "pitfalls.jsonl"
CASES = {row["id"]: row for row in map(json.loads, FILE.read_text().splitlines())}


def case(name: str) -> SimpleNamespace:
    row = CASES[name]
    return SimpleNamespace(input=row["input"], expected=row["expected"])


def padded(batch, budget=10_000, can_share=False):
    return list(lay_out(batch, budget, pad_id=0, device=torch.device("cpu"), can_share=can_share))


def token_gradients(batch, objective, parts=None, extent=None) -> dict[int, np.ndarray]:
    """The loss's gradient by each token at ratio 1, by answer; parts: answers of micro-batches."""
    found: dict[int, np.ndarray] = {}
    answers = batch.answers
    for part in parts or [range(len(answers))]:
        prompts = tuple(replace(batch.prompts[0], answers=(answers[i],)) for i in part)
        for micro in padded(replace(batch, prompts=prompts)):
            logprobs = micro.old_logprobs.clone().requires_grad_()
            tokens = micro.tokens(logprobs)
            counted = extent(tokens) if extent else batch.extent
            (gradient,) = torch.autograd.grad(objective.score(tokens, counted).loss, logprobs)
            pieces = gradient.split(micro.lengths.tolist())
            found.update(zip(micro.index, (p.numpy() for p in pieces), strict=True))
    return found


def partitions(n: int):
    """Every way to put n answers into micro-batches."""
    for labels in product(range(n), repeat=n):
        if all(label <= max(labels[:i], default=-1) + 1 for i, label in enumerate(labels)):
            yield [[i for i in range(n) if labels[i] == part] for part in range(max(labels) + 1)]


def test_loss_ga_token_mean() -> None:
    known = case("loss-ga-token-mean")
    lengths, rewards = known.input["completion_lengths"], known.input["advantages"]
    objective = RECIPES["dapo"]
    batch = collate([shaped(make_group(rewards, lengths), objective)], objective)
    right = known.expected["grad_wrt_sequence_logp_sum"]
    count = 0
    for parts in partitions(len(lengths)):
        found = token_gradients(batch, objective, parts)
        assert [found[i].sum() for i in range(4)] == pytest.approx(right, abs=1e-6), parts
        count += 1
    assert count == 15

    def own_count(tokens: Tokens) -> Extent:  # a mean in each micro-batch, then a mean of these
        return Extent(2 * len(tokens.rollout), len(tokens.lengths), 64)

    split = known.input["micro_batches"]
    wrong = token_gradients(batch, objective, split, own_count)
    sums = [float(wrong[i].sum()) for i in range(4)]
    assert sums == pytest.approx(known.expected["wrong_value_seen"], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "recipe"), [("grpo", "grpo"), ("token_mean", "dapo"), ("dr_grpo", "dr_grpo")]
)
@pytest.mark.parametrize("prompt", [1, 15])
@pytest.mark.parametrize("parts", [None, [[0, 1], [2, 3]], [[0], [1], [2], [3]]])
def test_loss_reductions_constant_divisor(name, recipe, prompt, parts) -> None:
    known = case("loss-reductions-constant-divisor")
    objective = make_objective(recipe, overlong=0.0)
    group = make_group(
        known.input["advantages"],
        known.input["completion_lengths"],
        prompt_ids=np.arange(prompt),
        limits=Limits(known.input["max_completion_length"]),
    )
    batch = collate([group], objective)
    assert padded(batch)[0].cells.input_ids.shape[1] == prompt + 50  # of which only answers count
    found = token_gradients(batch, objective, parts)
    coefficients = known.expected["per_token_coefficient"][name]
    for i, coefficient in enumerate(coefficients):
        assert found[i] == pytest.approx(coefficient, rel=1e-6)


@dataclass(frozen=True)
class Listed:
    """A curriculum that proposes what it is given, and remembers what it has seen."""

    problems: tuple[Problem, ...]
    seen: tuple[tuple[str, ...], ...] = ()

    def propose(self, n, rng):
        return list(self.problems[:n])

    def observe(self, groups):
        return replace(self, seen=(*self.seen, tuple(g.problem.key for g in groups)))


class NoLearner:
    def update(self, batch, objective):
        raise AssertionError("there is nothing to learn from")


def test_adv_group_layout() -> None:
    known = case("adv-group-layout")
    paid = dict(known.input["rows"])
    problems = tuple(Problem(key, key, "", "t") for key in paid)
    tools = Tools(
        ScriptedSampler(lambda prompt, rng: prompt),
        ScriptedJudge({key: [float(score)] for key, score in paid.items()}),
        NoLearner(),
    )
    config = StepConfig(2, known.input["group_size"], Limits(8), make_objective())
    _, report = train_step(State(Listed(problems)), tools, config)
    assert "every group agreed" in report.skipped
    found = [a for g in report.groups for a in make_objective().credit(g.rewards)]
    assert found == known.expected["advantages"]
    assert sum(g.is_informative for g in report.groups) == known.expected["informative_groups"]
    for group in report.groups:  # a group is the answers to its own problem
        for rollout in group.rollouts:
            assert "".join(map(chr, rollout.prompt_ids)) == group.problem.key == rollout.text
    rows = np.array([score for _, score in known.input["rows"]], float).reshape(-1, 4)
    by_position = (rows - rows.mean(1, keepdims=True)).ravel()
    assert by_position.tolist() == known.expected["wrong_value_seen"]


def test_adv_float_residue() -> None:
    known = case("adv-float-residue")
    rewards = np.array(known.input["rewards"])
    last = leave_one_out(rewards)[-1]
    assert last == pytest.approx(known.expected["advantage_of_last"])
    others = rewards[:-1]
    assert standardized(others).tolist() == [0.0] * 7  # their spread is float residue
    for name, credit in CREDITS.items():
        assert np.abs(credit(rewards)).max() < 3, name
    single = others.astype(np.float32)  # the wrong way: mean of squares less square of the mean
    residue = float((single * single).mean() - single.mean() ** 2)
    assert last / np.sqrt(residue) == pytest.approx(known.expected["wrong_value_seen"], abs=0.1)


def test_mask_nan_outside() -> None:
    known = case("mask-nan-outside")
    inside = int(sum(known.input["mask"][0]))
    logp = np.array(known.input["logp"][0][:inside])
    nan = np.full(3, np.nan)
    group = make_group([1, 0], [inside, 3])
    rollouts = [
        replace(group.rollouts[0], logprobs=logp),
        replace(group.rollouts[1], logprobs=nan, reference_logprobs=nan, stop=Stop.BUDGET),
    ]
    objective = make_objective("cispo", credit="centered", surrogate="clip")
    batch = collate([Group(group.problem, rollouts, group.verdicts)], objective)
    (micro,) = padded(batch)
    tokens = micro.tokens(micro.old_logprobs.clone().requires_grad_())
    scored = objective.score(tokens, batch.extent)
    (gradient,) = torch.autograd.grad(scored.loss, tokens.logprobs)
    assert [a.advantage for a in batch.answers] == known.input["advantage"]
    assert float(scored.loss.detach()) == pytest.approx(known.expected["loss"])
    assert float(scored.log_ratio.exp().mean()) == known.expected["ratio_mean"]
    assert bool(torch.isfinite(gradient).all()) == known.expected["grad_finite"]


@pytest.mark.parametrize("correction", ["none", *CORRECTIONS])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_inside_the_mask_is_still_found(correction, bad) -> None:
    """Also with a correction, whose mask would give such a token the weight 0 and hide it."""
    policy = make_policy("qwen3")
    groups = [make_group([1, 0], [3, 3])]
    groups[0].rollouts[0].logprobs[1] = bad
    objective = make_objective(correction=correction)
    learner = TorchLearner(policy, LearnerOptions())
    update = learner.update(collate(groups, objective), objective)
    assert update.skipped is not None and update.skipped.answers == (0,)
    assert "sampler" in update.skipped.tensor
    assert learner.updates == 0 and not update.is_taken


def drawn_by(pages: Pages, completions) -> None:
    """Write the completions token by token, as a sampler that draws them would."""
    alive = list(range(len(completions)))
    for column in range(pages.limits.max_tokens):
        if not alive:
            return
        tokens = np.array([completions[line][column] for line in alive])
        pages.write(np.array(alive), tokens, np.full(len(alive), -1.0, np.float32))
        over = pages.over[alive]
        alive = [line for line, done in zip(alive, over, strict=True) if not done]


def test_mask_eos_equals_pad() -> None:
    known = case("mask-eos-equals-pad")
    completions, pad = known.input["completions"], known.input["pad_id"]
    codec = Codec(make_tokenizer(), frozenset(known.input["eos_ids"]))
    limits = Limits(known.input["max_new_tokens"])
    pages = Pages([0] * len(completions), limits, codec, 18)
    drawn_by(pages, completions)
    rollouts = [pages.rollout(line, np.array([3])) for line in range(len(completions))]
    assert [r.ids.size for r in rollouts] == known.expected["lengths"]
    assert [r.is_truncated for r in rollouts] == known.expected["truncated"]
    verdicts = [Verdict(float(i % 2), Status.WRONG) for i in range(len(rollouts))]
    batch = collate(
        [Group(Problem("k", "", "", "t"), rollouts, verdicts)],
        make_objective(mask_truncated=False),
    )
    (micro,) = lay_out(batch, 1000, pad_id=pad, device=torch.device("cpu"), can_share=False)
    mask = np.zeros((len(rollouts), limits.max_tokens), int)
    for row, column in zip(micro.cells.row.tolist(), micro.cells.column.tolist(), strict=True):
        mask[micro.index[row], column] = 1  # the prompt has one token: a target stands one later
    assert mask.tolist() == known.expected["mask"]
    by_pad = (np.array(completions) != pad).astype(int)
    assert by_pad.tolist() != known.expected["mask"]  # which drops every end token


@pytest.fixture(scope="module")
def with_dropout(tmp_path_factory):
    """An adapter with dropout, saved and loaded as a person's own is."""
    known = case("ratio-one-at-first-step").input["lora"]
    root = tmp_path_factory.mktemp("dropout")
    make_policy("llama").save(root / "base")
    options = PolicyOptions(
        str(root / "base"), "lora", known["r"], known["alpha"], "float32", "cpu", 0
    )
    policy = load_policy(options)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, parameter in policy.trainable().items():
            if "lora_B" in name:
                parameter.normal_(std=0.05)
    policy.save(root / "adapter")
    file = root / "adapter" / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"lora_dropout": known["dropout"]}))
    return lambda: load_policy(
        PolicyOptions(str(root / "adapter"), "auto", 8, 32, "float32", "cpu", 0)
    )


def sampled(policy, limits=None, size=4, seed=0) -> list[Group]:
    prompts = ["12*34=", "7*8="]
    rows = NativeSampler(policy).sample(prompts, size, limits or Limits(16), seed)
    verdicts = [Verdict(float(i % 2), Status.WRONG) for i in range(size)]
    return [
        Group(Problem(p, p, "", "t"), row, verdicts) for p, row in zip(prompts, rows, strict=True)
    ]


def through_modules(policy):
    """The policy as one whose family has no fused forward: its own modules compute it."""
    policy.__dict__["fused"] = None
    return policy


@pytest.mark.parametrize("make", [lambda policy: policy, through_modules])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_ratio_one_at_first_step(with_dropout, checkpointing, make) -> None:
    policy = make(with_dropout())
    dropouts = [m for m in policy.model.modules() if isinstance(m, torch.nn.Dropout)]
    assert {m.p for m in dropouts} == {0.05}  # it is really there
    objective = make_objective(mask_truncated=False)
    batch = collate(sampled(policy), objective)
    options = LearnerOptions(gradient_checkpointing=checkpointing)
    metrics = TorchLearner(policy, options).update(batch, objective).metrics
    assert metrics["ratio/min"] == pytest.approx(1, abs=1e-5)
    assert metrics["ratio/max"] == pytest.approx(1, abs=1e-5)


def test_dropout_in_one_pass_would_be_seen(with_dropout) -> None:
    policy = through_modules(with_dropout())
    objective = make_objective(mask_truncated=False)
    batch = collate(sampled(policy), objective)
    learner = TorchLearner(policy, LearnerOptions())
    policy.model.train()
    metrics = learner.update(batch, objective).metrics
    assert metrics["ratio/max"] - metrics["ratio/min"] > 0.1


def exact(logits, temperature=1.0, entropy_gradient=False):
    """log pi of every symbol at a temperature, through the learner's own head."""
    hidden = logits.expand(len(logits), -1)
    return token_logprobs(
        hidden, Head(torch.nn.Identity()), torch.arange(len(logits)), temperature, entropy_gradient
    )[0]


def expectation(objective, logprobs, advantages, reference=None) -> torch.Tensor:
    """The exact expectation of the loss: each symbol an answer, with its probability as weight."""
    n = len(logprobs)
    probability = logprobs.detach().exp()
    tokens = Tokens(
        logprobs, logprobs.detach(), advantages, torch.arange(n), torch.ones(n, dtype=torch.int64),
        logprobs.detach(), reference,
    )  # fmt: skip
    weighted = replace(objective, reduce=lambda tokens, extent: probability)
    return weighted.score(tokens, Extent(n, n, 1)).loss


def test_logp_temperature() -> None:
    known = case("logp-temperature")
    logits = torch.tensor(known.input["logits"], requires_grad=True)
    temperature = known.input["temperature"]
    rewards = torch.tensor(known.input["rewards_per_symbol"], dtype=torch.float32)
    logprobs = exact(logits, temperature)
    (gradient,) = torch.autograd.grad(-expectation(make_objective(), logprobs, rewards), logits)
    assert gradient.tolist() == pytest.approx(known.expected["grad_logits"], abs=2e-5)
    # without T in the gradient: as if the logits were divided before the policy
    scaled = (logits / temperature).detach().requires_grad_()
    wrong = expectation(make_objective(), exact(scaled), rewards)
    (gradient,) = torch.autograd.grad(-wrong, scaled)
    assert gradient.tolist() == pytest.approx(known.expected["wrong_grad_if_T_left_out"], abs=2e-5)
    one_sided = (logprobs - exact(logits)).exp().detach()
    assert one_sided.tolist() == pytest.approx(
        known.expected["wrong_ratio_if_one_side_only"], abs=1e-4
    )


@pytest.mark.parametrize("temperature", [0.3, 0.7, 1.0, 2.0])
def test_what_is_drawn_has_the_log_probability_that_the_learner_gives_it(temperature) -> None:
    logits = torch.tensor(case("logp-temperature").input["logits"])
    uniforms = torch.linspace(0.001, 0.999, 50)
    tokens, recorded = draw(logits.expand(50, -1), uniforms, temperature)
    assert set(tokens.tolist()) == {0, 1, 2}
    assert torch.allclose(exact(logits, temperature)[tokens], recorded, atol=1e-6)


@pytest.fixture
def kl():
    known = case("kl-gradient")
    logits = torch.tensor(known.input["policy_logits"], requires_grad=True)
    reference = exact(torch.tensor(known.input["reference_logits"]))
    return SimpleNamespace(known=known.expected, logits=logits, reference=reference)


def kl_gradient(kl, penalty: KL) -> list[float]:
    objective = replace(make_objective("rloo"), kl_loss=penalty)
    logprobs = exact(kl.logits)
    loss = expectation(objective, logprobs, torch.zeros(3), kl.reference)
    (gradient,) = torch.autograd.grad(loss, kl.logits)
    return gradient.tolist()


def test_kl_gradient_of_the_true_divergence(kl) -> None:
    logprobs = exact(kl.logits)
    divergence = (logprobs.exp() * (logprobs - kl.reference)).sum()
    assert float(divergence.detach()) == pytest.approx(kl.known["reverse_kl"], abs=1e-6)
    (gradient,) = torch.autograd.grad(divergence, kl.logits)
    assert gradient.tolist() == pytest.approx(kl.known["reverse_kl_grad"], abs=1e-5)


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
def test_kl_gradient_in_the_loss(kl, estimator) -> None:
    expected = kl.known[f"{estimator}_as_loss_grad"]
    assert kl_gradient(kl, KL(1.0, estimator)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_weighted_by_the_ratio_it_is_that_of_the_reverse_kl(kl, estimator) -> None:
    found = kl_gradient(kl, KL(1.0, estimator, weighted=True))
    assert found == pytest.approx(kl.known["reverse_kl_grad"], abs=1e-5)


def test_kl_gradient_in_the_reward(kl) -> None:
    logprobs = exact(kl.logits)
    objective = make_objective("reinforce", kl=1.0, kl_in="reward")
    rollouts = [
        replace(
            make_rollout(1), ids=np.array([i]), logprobs=logprobs.detach().numpy()[[i]],
            reference_logprobs=kl.reference.numpy()[[i]],
        )
        for i in range(3)
    ]  # fmt: skip
    group = Group(Problem("k", "", "", "t"), rollouts, [Verdict(0.0, Status.WRONG)] * 3)
    credit = torch.tensor(objective.credit(shaped(group, objective).rewards), dtype=torch.float32)
    (gradient,) = torch.autograd.grad(expectation(objective, logprobs, credit), kl.logits)
    assert gradient.tolist() == pytest.approx(kl.known["reverse_kl_grad"], abs=1e-5)


def test_k1_in_the_loss_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing of the KL's gradient"):
        make_objective(kl=0.1, kl_estimator="k1")


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_left_padding_positions(family) -> None:
    """Ours are padded on the right; what stands beside an answer changes nothing about it."""
    known = case("left-padding-positions")
    policy = make_policy(family)
    n, pads = known.input["tokens"], known.input["left_pads"]
    short, long = "12*345=", "12*345=12*34"
    assert policy.codec.encode(long).size - policy.codec.encode(short).size == pads
    rows = NativeSampler(policy).sample([long, short], 3, Limits(n), 0)
    gap = max(
        float(np.abs(r.logprobs - hf_logprobs(policy.model, r.prompt_ids, r.ids)).max())
        for row in rows
        for r in row
    )
    assert gap < known.expected["max_abs_logp_difference_padded_vs_alone"]
    verdicts = [Verdict(float(i % 2), Status.WRONG) for i in range(3)]
    groups = [Group(Problem(str(i), "", "", "t"), row, verdicts) for i, row in enumerate(rows)]
    batch = collate(groups, make_objective(mask_truncated=False))
    for micro in padded(batch):
        with torch.no_grad():
            logprobs, _ = ask(policy, micro, 1.0)
        together = micro.old_logprobs
        assert float((logprobs - together).abs().max()) < 1e-5
        assert micro.cells.input_ids.shape[0] == 6  # rows of both lengths
    wrong = left_padded(policy, rows[1][0], pads)
    assert float(np.abs(wrong - rows[1][0].logprobs).max()) > 0.05


def left_padded(policy, rollout: Rollout, pads: int) -> np.ndarray:
    """The wrong way: pads before the prompt, without positions or a mask."""
    ids = np.concatenate([np.zeros(pads, np.int64), rollout.prompt_ids])
    return hf_logprobs(policy.model, ids, rollout.ids)


def test_lora_warm_start_reference() -> None:
    known = case("lora-warm-start-reference")
    policy = make_lora(make_policy("llama"), rank=8)
    reference = TorchReference(policy)
    groups = reference.annotate(sampled(policy))
    objective = make_objective(kl=known.input["beta"], mask_truncated=False)
    learner = TorchLearner(policy, LearnerOptions())
    metrics = learner.update(collate(groups, objective), objective).metrics
    assert metrics["kl"] == pytest.approx(known.expected["kl"], abs=1e-9)
    rollouts = [r for group in groups for r in group.rollouts]
    with policy.peft.disable_adapter():  # the base is another policy
        off = [hf_logprobs(policy.model, r.prompt_ids, r.ids) for r in rollouts]
    gap = np.concatenate(off) - np.concatenate([r.logprobs for r in rollouts])
    wrong = float((np.expm1(gap) - gap).mean())
    assert wrong > 0.05, f"seen elsewhere: {known.expected['wrong_value_seen']}"


def test_every_case_of_the_file_has_its_test() -> None:
    for name in CASES:
        assert f"test_{name.replace('-', '_')}" in globals() or name == "kl-gradient", name
