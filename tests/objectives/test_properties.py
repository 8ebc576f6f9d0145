"""What may not change the loss or its gradient, for every recipe and every choice on every axis.

`pytest tests/objectives/test_properties.py -s` prints how many cases ran, and for how long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import jaxtyping
import numpy as np
import pytest
import torch

from evenodds.batch import advantages, collate
from evenodds.domain import Extent, Group, Verdict
from evenodds.objectives import Objective, shaped
from evenodds.objectives.shaping import soft_overlong
from tests.objectives import cases
from tests.objectives.cases import OBJECTIVES, Case, assert_same, laid_out, whole

ROUNDS = 5
HARM = (np.nan, np.inf, -np.inf, 1e4, -1e4)
NAMES = sorted(OBJECTIVES)
COUNT = {"cases": 0}


@pytest.fixture(scope="module", autouse=True)
def counted() -> Iterator[None]:
    """Says how many cases ran. Shapes are checked by all other tests: here it costs two thirds."""
    start = time.monotonic()
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
    print(f"\n{COUNT['cases']:,} cases in {time.monotonic() - start:.1f} s")


def drawn(name: str, rounds: int = ROUNDS) -> Iterator[tuple[int, np.random.Generator]]:
    """A seed and its generator for each round of a test; a failure names the seed."""
    for seed in range(rounds):
        COUNT["cases"] += 1
        yield seed, np.random.default_rng([NAMES.index(name), seed])


def partition(rng: np.random.Generator, n: int) -> list[list[int]]:
    """n answers in a random order, cut at random places."""
    cuts = np.flatnonzero(rng.random(max(0, n - 1)) < 0.5) + 1
    return [part.tolist() for part in np.split(rng.permutation(n), cuts)] if n else []


def size(case: Case, objective: Objective) -> int:
    return len(cases.batch_of(case, objective)[0].answers)


@pytest.mark.parametrize("name", NAMES)
def test_the_split_into_micro_batches_changes_nothing(name) -> None:
    objective = OBJECTIVES[name]
    for seed, rng in drawn(name):
        case = cases.draw(rng)
        parts = partition(rng, size(case, objective))
        assert_same(whole(case, objective, parts), whole(case, objective), (seed, parts))


@pytest.mark.parametrize("name", NAMES)
def test_padding_and_layout_change_nothing(name) -> None:
    objective = OBJECTIVES[name]
    for seed, rng in drawn(name):
        case = cases.draw(rng)
        expected = whole(case, objective)
        for budget, can_share in ((10_000, False), (25, False), (10_000, True), (40, True)):
            COUNT["cases"] += 1
            found = laid_out(case, objective, budget, can_share)
            assert_same(found, expected, (seed, budget, can_share))


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rollouts_and_of_groups_changes_nothing(name) -> None:
    objective = OBJECTIVES[name]
    for seed, rng in drawn(name):
        case = cases.draw(rng)
        groups = []
        for group in case.groups:
            order = rng.permutation(len(group.rollouts))
            rollouts = [group.rollouts[i] for i in order]
            groups.append(Group(group.problem, rollouts, [group.verdicts[i] for i in order]))
        groups = [groups[i] for i in rng.permutation(len(groups))]
        other = cases.regrouped(case, groups)
        assert_same(whole(other, objective), whole(case, objective), seed)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_outside_the_loss_may_hold_anything(name) -> None:
    """NaN, infinities and log ratios of ±1e4 in answers that were cut or not judged."""
    objective = OBJECTIVES[name]
    for seed, rng in drawn(name):
        case = cases.draw(rng)
        inside = whole(case, objective).gradient.keys()
        pays_kl = objective.kl_reward != 0  # its truncated answers are in the group's mean

        def harmed(rollout, verdict, rng=rng, inside=inside, pays_kl=pays_kl):
            if rollout.seed in inside or (pays_kl and verdict.is_judged):
                return rollout
            values = rng.choice(HARM, (2, rollout.ids.size))
            return replace(rollout, logprobs=values[0], reference_logprobs=values[1])

        other = cases.each_rollout(case, harmed)
        found = whole(other, objective)
        assert_same(found, whole(case, objective), seed)
        assert np.isfinite(found.loss)
        assert all(np.isfinite(values).all() for values in found.gradient.values()), seed


@pytest.mark.parametrize("name", NAMES)
def test_no_input_is_written(name) -> None:
    objective = OBJECTIVES[name]
    for seed, rng in drawn(name, 3):
        case = cases.draw(rng)

        def snapshot(case=case) -> list[np.ndarray]:
            rollouts = [r for group in case.groups for r in group.rollouts]
            names = ("ids", "logprobs", "reference_logprobs", "prompt_ids")
            held = [getattr(r, name) for r in rollouts for name in names]
            known = [*case.current.values(), *case.first.values(), *case.entropy.values()]
            rewards = [group.rewards for group in case.groups]
            return [array.copy() for array in (*held, *known, *rewards)]

        before = snapshot()
        whole(case, objective)
        laid_out(case, objective, 30, True)
        for one, other in zip(before, snapshot(), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=str(seed))


@pytest.mark.parametrize("name", NAMES)
def test_groups_that_agree_have_no_gradient_but_for_penalties(name) -> None:
    """Exactly none. Raw rewards do: each is its own advantage, until they are whitened."""
    objective = replace(OBJECTIVES[name], overlong=0.0, kl_reward=0.0)
    is_raw = objective.credit.__name__ == "raw" and not objective.whiten
    for seed, rng in drawn(name, 3):
        case = cases.draw(rng)
        value = float(rng.choice([0.1, 0.7, 1.0]))
        groups = [
            Group(
                group.problem,
                group.rollouts,
                [Verdict(value, v.status) if v.is_judged else v for v in group.verdicts],
            )
            for group in case.groups
        ]
        for group, credit in zip(groups, advantages(groups, objective), strict=True):
            expected = np.where(group.judged, value, 0.0) if is_raw else np.zeros(len(credit))
            assert credit.tolist() == expected.tolist(), seed
        batch = collate(groups, objective)
        if not is_raw and not (objective.has_penalty and objective.zero_signal == "keep"):
            assert (batch.prompts, batch.extent.rollouts, batch.extent.tokens) == ((), 0, 0)
        result = whole(cases.regrouped(case, groups), replace(objective, kl_loss=None, entropy=0.0))
        if not is_raw:
            assert all(not values.any() for values in result.gradient.values())


@pytest.mark.parametrize("name", NAMES)
def test_at_ratio_one_every_surrogate_has_the_gradient_of_reinforce(name) -> None:
    """w·A on each token; the weight of a correction is a constant beside it."""
    objective = replace(OBJECTIVES[name], kl_loss=None, entropy=0.0)
    for seed, rng in drawn(name):
        case = cases.draw(rng)
        case = replace(case, current={r.seed: r.logprobs for g in case.groups for r in g.rollouts})
        if objective.correction is not None:
            case = replace(case, current=case.first)
        batch, seeds = cases.batch_of(case, objective)
        found = whole(case, objective).gradient
        weights = {
            "per_answer": lambda n, e: 1 / (e.rollouts * n),
            "per_sequence": lambda n, e: 1 / (e.rollouts * n),
            "per_budget": lambda n, e: 1 / (e.rollouts * e.max_tokens),
            "per_token": lambda n, e: 1 / e.tokens,
        }
        for answer in batch.answers:
            weight = weights[objective.reduce.__name__](answer.ids.size, batch.extent)
            expected = np.full(answer.ids.size, -weight * answer.advantage)
            if objective.correction is not None:
                expected = expected * corrections(case, answer, seeds, objective)
            np.testing.assert_allclose(
                found[seeds[answer.index]], expected, rtol=1e-9, atol=1e-15, err_msg=str(seed)
            )


def corrections(case: Case, answer, seeds, objective: Objective) -> np.ndarray:
    """The weights, from their definition."""
    correction = objective.correction
    assert correction is not None
    gap = case.first[seeds[answer.index]] - answer.old_logprobs
    weight = np.exp(np.full(gap.size, gap.sum()) if correction.sequence else gap)
    above = 0.0 if correction.bound.__name__ == "mask" else correction.cap
    return np.where(weight <= correction.cap, weight, above)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_stay_finite_however_far_the_policy_moved(name, dtype) -> None:
    """Log ratios of ±1e4 inside the loss, towards the sampler and the reference alike."""
    objective = OBJECTIVES[name]
    for seed, rng in drawn(name, 3):
        n, answers = 12, 4
        rollout = torch.arange(answers).repeat_interleave(n // answers)
        far = [
            torch.from_numpy(rng.choice([0.0, 1.0, 30.0, 100.0, 1e4], n) * rng.choice([-1, 1], n))
            for _ in range(3)
        ]
        old, first, reference = (
            -f.abs().to(torch.from_numpy(np.zeros(0, dtype)).dtype) for f in far
        )
        current = -torch.from_numpy(rng.choice([0.0, 1.0, 1e4], n).astype(dtype))
        advantage = torch.from_numpy(rng.choice([-2.0, 0.0, 2.0], answers).astype(dtype))[rollout]
        tokens = cases.Tokens(
            current.requires_grad_(),
            old,
            advantage,
            rollout,
            torch.full((answers,), n // answers),
            first,
            reference,
            torch.ones_like(old),
        )
        scored = objective.score(tokens, Extent(n, answers, 8))
        (gradient,) = torch.autograd.grad(scored.loss, tokens.logprobs)
        assert torch.isfinite(gradient).all(), (seed, gradient)
        assert torch.isfinite(scored.loss), seed


def of_one(test: Callable[..., None], name: str) -> list[dict[str, object]]:
    """All arguments with which pytest calls a test for one objective; none if it has no names."""
    marks = [mark.args for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    if ("name", NAMES) not in marks:
        return []
    kept = {argument: [name] if argument == "name" else values for argument, values in marks}
    return [dict(zip(kept, row, strict=True)) for row in product(*kept.values())]


def test_more_than_two_thousand_cases_are_run() -> None:
    """Every test of this file is run for one objective and its cases are counted.

    Not by what a session ran so far: of workers that share these tests each sees a part only.
    """
    tests = [test for name, test in globals().items() if name.startswith("test_")]
    calls = [(test, arguments) for test in tests for arguments in of_one(test, "dr_grpo")]
    before = COUNT["cases"]
    for test, arguments in calls:
        test(**arguments)
    assert len({test for test, _ in calls}) >= 8
    assert (COUNT["cases"] - before) * len(NAMES) > 2_000


def test_answers_that_share_a_prompt_were_among_them() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(20):
        batch, _ = cases.batch_of(cases.draw(rng), OBJECTIVES["reinforce"])
        found += [
            len(micro.cells.answers) > len(micro.cells.prompts)
            for micro in cases.lay_out(
                batch, 10_000, pad_id=0, device=torch.device("cpu"), can_share=True
            )
        ]
    assert any(found)


def test_whitened_advantages_have_mean_0_and_deviation_1_over_tokens() -> None:
    objective = OBJECTIVES["reinforce_pp"]
    for _, rng in drawn("reinforce_pp", 100):
        batch, _ = cases.batch_of(cases.draw(rng), objective)
        if not batch.answers:
            continue
        values = np.concatenate([np.full(a.ids.size, a.advantage) for a in batch.answers])
        assert abs(values.mean()) < 1e-9
        assert values.std() == pytest.approx(1, abs=1e-9)


def test_keeping_changes_the_denominators_and_dropping_the_groups() -> None:
    """The gradient of kept groups is that of dropped ones times the answers left by all."""
    for _, rng in drawn("dr_grpo", 50):
        case = cases.draw(rng)
        dropped, kept = OBJECTIVES["dr_grpo"], replace(OBJECTIVES["dr_grpo"], zero_signal="keep")
        less, more = (cases.batch_of(case, o)[0] for o in (dropped, kept))
        if not less.answers:
            assert not more.answers  # nothing has a gradient: momentum would move all the same
            continue
        share = less.extent.rollouts / more.extent.rollouts
        assert len(less.prompts) <= len(more.prompts)
        one, other = whole(case, dropped).gradient, whole(case, kept).gradient
        for name, values in one.items():
            np.testing.assert_allclose(other[name], share * values, rtol=1e-9, atol=1e-15)
        assert all(not other[name].any() for name in other.keys() - one.keys())


def test_shaping_adds_each_penalty_once_to_what_was_judged() -> None:
    """Statuses stay, and what could not be judged. Shaping twice would take it off twice."""
    objective = OBJECTIVES["dr_grpo, overlong"]
    groups = [
        group for seed in range(6) for group in cases.draw(np.random.default_rng(seed)).groups
    ]
    paid = []
    for before in groups:
        after = shaped(before, objective)
        again = shaped(after, objective)
        assert [v.status for v in after.verdicts] == [v.status for v in before.verdicts]
        rows = zip(before.rollouts, before.verdicts, after.verdicts, again.verdicts, strict=True)
        for rollout, old, new, twice in rows:
            if not old.is_judged:
                assert new is old
                continue
            penalty = soft_overlong(rollout.ids.size, cases.BUDGET, objective.overlong)
            paid.append(penalty)
            assert new.score == pytest.approx(old.score + penalty)
            assert twice.score == pytest.approx(old.score + 2 * penalty)
    assert min(paid) < 0 == max(paid)
