"""The GRU as a policy: one grammar for sampler and learner, and the sampler's contract."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from evenodds.batch import Packed, Padded, collate
from evenodds.domain import Limits, Stop
from evenodds.errors import UsageError
from evenodds.evaluation import answer_all
from evenodds.judge import InlineJudge
from evenodds.lab.toy.grammar import END, LONGEST, TOKENS, make_grammar
from evenodds.lab.toy.gru import GruPolicy, GruSampler
from evenodds.lab.toy.measure import kl_to
from evenodds.lab.toy.problems import ALL, verify
from evenodds.learner import LearnerOptions, TorchLearner
from evenodds.objectives import make_objective
from evenodds.reference import TorchReference

torch.set_num_threads(1)

PROMPTS = ["1+2+3=", "9+9+9=", "0+0+7=", "10+20+30=", "4+5="]
NUMBER = "(0|[1-9][0-9]?)"
ANSWER = re.compile(rf"{NUMBER}(;{NUMBER}\+{NUMBER}={NUMBER})?")


def warm(seed: int = 0, width: int = 24) -> GruPolicy:
    """Random weights large enough that choices differ."""
    policy = GruPolicy.of(width, seed)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(2.0)
    return policy


@pytest.fixture(scope="module")
def sampler() -> GruSampler:
    return GruSampler(warm())


def rows_of(groups):
    """All rollouts as padded rows, with the places that predict their tokens."""
    rollouts = [rollout for group in groups for rollout in group]
    rows = [np.concatenate([r.prompt_ids, r.ids]) for r in rollouts]
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    row, column, targets = [], [], []
    for at, (cells, rollout) in enumerate(zip(rows, rollouts, strict=True)):
        ids[at, : len(cells)] = torch.from_numpy(cells)
        row += [at] * rollout.ids.size
        column += range(len(rollout.prompt_ids) - 1, len(cells) - 1)
        targets += rollout.ids.tolist()
    at = (torch.tensor(row), torch.tensor(column))
    old = np.concatenate([r.logprobs for r in rollouts])
    return ids, at, torch.tensor(targets), old


def test_every_state_allows_something_and_knows_where_it_leads() -> None:
    grammar = make_grammar()
    assert grammar.allowed.any(1).all()
    assert grammar.follow.min() == 0
    assert grammar.follow.max() == len(grammar.follow) - 1

    def reads(text: str) -> bool:
        state = grammar.start
        for token in "1+2+3=":
            state = grammar.follow[state, TOKENS.index(token)]
        for token in [*text, END]:
            if not grammar.allowed[state, TOKENS.index(token)]:
                return False
            state = grammar.follow[state, TOKENS.index(token)]
        return True

    right = ["6", "0", "10", "5;1+5=6", "0;0+0=0", "88;88+88=88"]
    wrong = ["", "06", "123", "5;", "5;1=6", "5;1+5", "5=6", "5;1+5=6;", "5;1+5+1=6", ";", "+"]
    assert [text for text in right if not reads(text)] == []
    assert [text for text in wrong if reads(text)] == []


def test_what_is_sampled_is_in_the_grammar_and_ends_by_itself(sampler) -> None:
    for group in sampler.sample(PROMPTS, 200, Limits(LONGEST), 0):
        for rollout in group:
            assert rollout.stop is Stop.END_TOKEN
            assert ANSWER.fullmatch(rollout.text), rollout.text
    lengths = {r.ids.size for g in sampler.sample(PROMPTS, 200, Limits(LONGEST), 0) for r in g}
    assert {2, 3} < lengths  # bare answers, and others


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_the_learner_gives_what_the_sampler_recorded(sampler, temperature) -> None:
    groups = sampler.sample(PROMPTS, 20, Limits(LONGEST, temperature), 1)
    ids, at, targets, old = rows_of(groups)
    policy = sampler.policy
    logprobs, entropy = policy.logprobs(Padded(ids, *at), targets, temperature)
    assert np.abs(logprobs.detach().numpy() - old).max() < 2e-6
    assert torch.isfinite(entropy).all()
    assert (entropy >= 0).all()
    assert not entropy.requires_grad


def test_no_mass_is_on_what_the_grammar_forbids(sampler) -> None:
    ids, at, _, _ = rows_of(sampler.sample(PROMPTS, 20, Limits(LONGEST), 2))
    logits = sampler.policy.logits(ids, at)
    states = sampler.policy.model.states(ids)[at].numpy()
    allowed = torch.from_numpy(make_grammar().allowed[states])
    probabilities = logits.softmax(-1)
    assert (probabilities[~allowed] == 0).all()
    assert (probabilities[allowed] > 0).all()
    free = sampler.policy.model.head(sampler.policy.model.read(ids)[at]).softmax(-1)
    again = free * allowed / (free * allowed).sum(-1, keepdim=True)
    assert torch.allclose(probabilities, again, atol=1e-6)


def test_gradients_of_log_probabilities_and_entropy_are_finite_and_right(sampler) -> None:
    policy = warm(3)
    ids, at, targets, _ = rows_of(sampler.sample(PROMPTS[:2], 3, Limits(LONGEST), 3))
    logprobs, entropy = policy.logprobs(Padded(ids, *at), targets, 0.8, entropy_gradient=True)
    bias = policy.model.head.bias
    (found,) = torch.autograd.grad(entropy.sum() + logprobs.sum(), bias)
    assert torch.isfinite(found).all()

    def value(shift: float, index: int) -> float:
        with torch.no_grad():
            bias[index] += shift
            both = policy.logprobs(Padded(ids, *at), targets, 0.8)
            bias[index] -= shift
        return float(both[0].double().sum() + both[1].double().sum())

    for index in (TOKENS.index(END), TOKENS.index("3"), TOKENS.index(";")):
        slope = (value(1e-2, index) - value(-1e-2, index)) / 2e-2
        assert slope == pytest.approx(float(found[index]), rel=2e-3, abs=2e-3)


def test_padding_changes_nothing(sampler) -> None:
    ids, at, targets, _ = rows_of(sampler.sample(PROMPTS[:2], 2, Limits(LONGEST), 4))
    wide = torch.nn.functional.pad(ids, (0, 5), value=TOKENS.index("7"))
    short = sampler.policy.logprobs(Padded(ids, *at), targets, 1.0)[0]
    long = sampler.policy.logprobs(Padded(wide, *at), targets, 1.0)[0]
    assert torch.allclose(short, long, atol=1e-6)


def test_the_samplers_contract(sampler) -> None:
    groups = sampler.sample(PROMPTS, 3, Limits(LONGEST), 5)
    assert [len(group) for group in groups] == [3] * 5
    for prompt, group in zip(PROMPTS, groups, strict=True):
        for rollout in group:
            assert "".join(TOKENS[i] for i in rollout.prompt_ids) == prompt == rollout.prompt_tail
            assert 1 <= rollout.ids.size == rollout.logprobs.size <= LONGEST
            assert rollout.logprobs.dtype == np.float32
            assert (rollout.logprobs <= 0).all()
            assert rollout.limits == Limits(LONGEST)
    assert len({rollout.seed for group in groups for rollout in group}) == 15


def test_the_same_seed_gives_the_same_rollouts_and_company_changes_none(sampler) -> None:
    def ids(prompts, seed, count=3):
        groups = sampler.sample(prompts, count, Limits(LONGEST), seed)
        return [[r.ids.tolist() for r in group] for group in groups]

    assert ids(PROMPTS, 6) == ids(PROMPTS, 6)
    assert ids(PROMPTS, 6) != ids(PROMPTS, 7)
    assert ids(PROMPTS[:1], 6) == ids(PROMPTS, 6)[:1]
    assert ids(PROMPTS, 6, 2) == [group[:2] for group in ids(PROMPTS, 6)]


def test_budget_version_and_greedy(sampler) -> None:
    for rollout in sampler.sample(PROMPTS, 50, Limits(1), 8)[0]:
        assert (rollout.stop is Stop.BUDGET) == (rollout.ids[-1] != TOKENS.index(END))
    other = GruSampler(sampler.policy)
    other.load(None, 7)
    greedy = other.sample(PROMPTS, 4, Limits(LONGEST, 0.0), 9)
    assert greedy[0][1].version == 7
    assert all(r.text == group[0].text for group in greedy for r in group)
    assert all((r.logprobs == 0).all() for group in greedy for r in group)
    assert other.sample([], 4, Limits(4), 0) == []


def test_wrong_prompts_and_packed_tokens_are_refused(sampler) -> None:
    with pytest.raises(UsageError, match="begins behind `=`"):
        sampler.sample(["1+2"], 1, Limits(4), 0)
    with pytest.raises(UsageError, match="no token for 'x'"):
        sampler.sample(["1x2="], 1, Limits(4), 0)
    ids, at, targets, _ = rows_of(sampler.sample(PROMPTS[:1], 1, Limits(4), 0))
    lengths = np.array([1])
    packed = Packed(ids[0], ids[0], at[1], lengths, lengths, lengths - 1)
    with pytest.raises(UsageError, match="Got packed tokens"):
        sampler.policy.logprobs(packed, targets, 1.0)


def test_the_learner_trains_it_and_the_reference_stays() -> None:
    policy = warm(1)
    reference, sampler = TorchReference(policy), GruSampler(policy)
    kept = {name: value.clone() for name, value in policy.trainable().items()}
    problems = [triple.problem() for triple in ALL[:6]]

    def reward(problem, completion):
        verdict = verify(problem, completion)
        return verdict if ";" in completion.text else type(verdict)(1.0, verdict.status)

    judge, limits = InlineJudge(reward), Limits(LONGEST)
    learner = TorchLearner(policy, LearnerOptions(learning_rate=1e-2, warmup_steps=1, passes=2))
    first = answer_all(problems, sampler, judge, 16, limits, 0)
    objective = make_objective("dr_grpo", kl=0.01)
    metrics = learner.update(collate(reference.annotate(first), objective), objective).metrics
    assert metrics["sampling/sampling_logp_difference/max"] < 2e-6
    assert any(not torch.equal(kept[name], p) for name, p in policy.trainable().items())
    frozen = dict(reference.policy.model.named_parameters())
    assert all(torch.equal(kept[name], frozen[name]) for name in kept)
    for seed in range(1, 6):
        groups = reference.annotate(answer_all(problems, sampler, judge, 16, limits, seed))
        batch = collate(groups, objective)
        if batch.prompts:  # none where all have learned it
            learner.update(batch, objective)
    last = answer_all(problems, sampler, judge, 16, limits, 99)
    assert np.mean([g.rewards.mean() for g in last]) > np.mean([g.rewards.mean() for g in first])
    rollouts = [rollout for group in last for rollout in group.rollouts]
    distance = kl_to(policy, reference.policy, rollouts)
    assert distance > 0.01
    assert kl_to(policy, policy.frozen(), rollouts) == 0.0
    annotated = reference.annotate(last)
    gaps = [r.logprobs - r.reference_logprobs for g in annotated for r in g.rollouts]
    assert np.concatenate(gaps).mean() == pytest.approx(distance, rel=0.5)  # k1 estimates it


def test_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, two = GruPolicy.of(8, 1), GruPolicy.of(8, 1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one.model.head.weight, two.model.head.weight)
    assert not torch.equal(one.model.head.weight, GruPolicy.of(8, 2).model.head.weight)
    assert one.size == sum(p.numel() for p in one.trainable().values())
