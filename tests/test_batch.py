"""What counts, what is a denominator, and how rows are laid out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from evenodds.batch import Batch, Packed, advantages, collate, lay_out
from evenodds.domain import Extent, Group, Status, Stop, Verdict
from evenodds.objectives import RECIPES, Objective, make_objective
from tests.tiny import make_group, make_rollout

DR_GRPO = RECIPES["dr_grpo"]


def micro_batches(batch, budget=10_000, can_share=False):
    return list(lay_out(batch, budget, pad_id=0, device=torch.device("cpu"), can_share=can_share))


def test_the_extent_counts_only_what_is_in_the_loss() -> None:
    batch = collate([make_group([1, 0], [2, 5]), make_group([0, 1, 1], [3, 1, 1])], DR_GRPO)
    assert batch.extent == Extent(tokens=12, rollouts=5, max_tokens=64)
    assert [answer.index for answer in batch.answers] == [0, 1, 2, 3, 4]


def test_a_truncated_answer_keeps_its_score_in_the_mean_but_leaves_the_loss() -> None:
    group = make_group([1, 0, 0], [2, 3, 4])
    cut = make_rollout(4, stop=Stop.BUDGET)
    group = Group(group.problem, [*group.rollouts[:2], cut], group.verdicts)
    masked = collate([group], DR_GRPO)
    assert masked.extent == Extent(5, 2, 64)
    assert [a.advantage for a in masked.answers] == pytest.approx([2 / 3, -1 / 3])
    scored = collate([group], make_objective(mask_truncated=False))
    assert scored.extent == Extent(9, 3, 64)


@pytest.mark.parametrize("status", [Status.TIMEOUT, Status.ERROR, Status.GOLD_UNREADABLE])
def test_what_could_not_be_judged_leaves_mean_and_loss(status) -> None:
    group = make_group([1, 0, 0], [2, 3, 4])
    verdicts = [*group.verdicts[:2], Verdict(0.0, status)]
    batch = collate([Group(group.problem, group.rollouts, verdicts)], DR_GRPO)
    assert [a.advantage for a in batch.answers] == pytest.approx([0.5, -0.5])
    assert batch.extent == Extent(5, 2, 64)


def test_no_groups_make_an_empty_batch() -> None:
    assert collate([], DR_GRPO).extent == Extent(0, 0, 0)


def test_groups_are_groups_by_what_they_hold_not_by_position() -> None:
    """p1 is always right and p2 never: no advantage anywhere, however the rows interleave."""
    groups = [make_group([1] * 4, [2] * 4, "p1"), make_group([0] * 4, [2] * 4, "p2")]
    assert [a for credit in advantages(groups, DR_GRPO) for a in credit] == [0.0] * 8
    assert collate(groups, DR_GRPO) == Batch((), Extent(0, 0, 64))


MIXED, AGREED = make_group([1, 0], [2, 5], "mixed"), make_group([1, 1], [3, 4], "agreed")


@pytest.mark.parametrize(
    ("zero_signal", "extent", "indices"),
    [
        ("drop", Extent(7, 2, 64), [2, 3]),
        ("refill", Extent(7, 2, 64), [2, 3]),
        ("keep", Extent(14, 4, 64), [0, 1, 2, 3]),
    ],
)
def test_groups_without_signal_leave_or_stay_in_the_denominators(
    zero_signal, extent, indices
) -> None:
    batch = collate([AGREED, MIXED], make_objective(zero_signal=zero_signal))
    assert batch.extent == extent
    assert [answer.index for answer in batch.answers] == indices


@pytest.mark.parametrize(
    ("settings", "answers"),
    [
        ({}, 0),
        ({"zero_signal": "keep"}, 0),  # nothing would move but by momentum
        ({"zero_signal": "keep", "kl": 0.1}, 2),
        ({"zero_signal": "keep", "entropy": 0.1}, 2),
        ({"kl": 0.1}, 0),
        ({"credit": "raw", "zero_signal": "keep"}, 2),
    ],
)
def test_a_batch_is_empty_where_nothing_has_a_gradient(settings, answers) -> None:
    batch = collate([AGREED], make_objective(**settings))
    assert len(batch.answers) == batch.extent.rollouts == answers


def test_a_group_stays_for_the_signal_of_its_truncated_answers_but_not_a_batch() -> None:
    """Only the cut ones differ: their advantages are not 0, those in the loss are."""
    group = make_group([1, 0, 0.5], [2, 3, 4])
    rollouts = [replace(r, stop=Stop.BUDGET) for r in group.rollouts[:2]] + group.rollouts[2:]
    assert not collate([Group(group.problem, rollouts, group.verdicts)], DR_GRPO).answers


def test_whitening_is_over_the_tokens_of_all_groups_in_the_loss() -> None:
    objective = make_objective("reinforce_pp_baseline")
    groups = [make_group([1, 0], [2, 6], "a"), make_group([1, 0, 0], [4, 1, 1], "b")]
    batch = collate(groups, objective)
    values = np.concatenate([np.full(a.ids.size, a.advantage) for a in batch.answers])
    plain = np.concatenate([[0.5, -0.5], [2 / 3, -1 / 3, -1 / 3]])
    tokens = np.repeat(plain, [2, 6, 4, 1, 1])
    assert values == pytest.approx((tokens - tokens.mean()) / tokens.std())


@pytest.mark.parametrize("recipe", ["reinforce_pp", "reinforce_pp_baseline", "dr_grpo"])
def test_what_could_not_be_judged_has_no_advantage_also_where_all_are_whitened(recipe) -> None:
    """Exactly 0, whatever its score says; the others are whitened as if it were not there."""
    objective = make_objective(recipe)
    one, other = make_group([1, 0, 1, 0.5], [2, 3, 4, 5], "a"), make_group([1, 0], [6, 1], "b")
    hidden = [*one.verdicts[:2], *(Verdict(v.score, Status.TIMEOUT) for v in one.verdicts[2:])]
    found = advantages([Group(one.problem, one.rollouts, hidden), other], objective)
    alone = advantages([make_group([1, 0], [2, 3], "a"), other], objective)
    assert found[0][2:].tolist() == [0, 0]
    assert found[0][:2] == pytest.approx(alone[0])
    assert found[1] == pytest.approx(alone[1])
    assert found[0][0] > 0 > found[0][1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_advantages_have_the_precision_of_the_log_probabilities(dtype) -> None:
    group = make_group([1, 0, 0], [2, 3, 4])
    rollouts = [replace(r, logprobs=r.logprobs.astype(dtype)) for r in group.rollouts]
    (micro,) = micro_batches(collate([Group(group.problem, rollouts, group.verdicts)], DR_GRPO))
    assert micro.advantages.dtype == micro.old_logprobs.dtype == torch.tensor(dtype(0)).dtype
    assert float(micro.advantages.max()) == pytest.approx(2 / 3, abs=4 * float(np.finfo(dtype).eps))


def test_first_log_probabilities_go_to_their_answers_by_index() -> None:
    batch = collate([AGREED, MIXED], DR_GRPO)
    first = {2: np.full(2, -2.0, np.float32), 3: np.full(5, -3.0, np.float32)}
    (micro,) = micro_batches(batch.with_first(first))
    assert micro.index == (3, 2)  # the longest stands first
    assert micro.first_logprobs.tolist() == [-3.0] * 5 + [-2.0] * 2
    live = torch.zeros(7, requires_grad=True)
    assert micro.tokens(live).first_logprobs is micro.first_logprobs
    (fresh,) = micro_batches(batch)
    assert fresh.first_logprobs is None
    own = fresh.tokens(live).first_logprobs
    assert own.tolist() == [0.0] * 7 and not own.requires_grad


def test_reference_log_probabilities_are_there_for_all_answers_or_for_none() -> None:
    known = [replace(r, reference_logprobs=r.logprobs - 1) for r in MIXED.rollouts]
    (micro,) = micro_batches(collate([Group(MIXED.problem, known, MIXED.verdicts)], DR_GRPO))
    assert torch.equal(micro.reference_logprobs, micro.old_logprobs - 1)
    half = [known[0], MIXED.rollouts[1]]
    (micro,) = micro_batches(collate([Group(MIXED.problem, half, MIXED.verdicts)], DR_GRPO))
    assert micro.reference_logprobs is None


def cells_of(micro) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids of all cells in one line, and where in it each answer token is predicted."""
    if isinstance(micro.cells, Packed):
        return micro.cells.input_ids, micro.cells.at
    width = micro.cells.input_ids.shape[1]
    return micro.cells.input_ids.flatten(), micro.cells.row * width + micro.cells.column


@pytest.mark.parametrize("can_share", [False, True])
def test_every_answer_token_is_predicted_once_by_what_stands_before_it(can_share) -> None:
    """Prompts of one length but other last tokens, so that one can be told from the other."""
    groups = [
        make_group([1, 0, 1, 0], [2, 5, 1, 3], prompt_ids=np.array([3, 4, 5, 6])),
        make_group([0, 1], [4, 2], prompt_ids=np.array([3, 4, 5, 7])),
    ]
    batch = collate(groups, DR_GRPO)
    prompts = {a.index: p.prompt_ids for p in batch.prompts for a in p.answers}
    seen = []
    for micro in micro_batches(batch, 25, can_share):
        seen += micro.index
        ids, at = cells_of(micro)
        assert at.shape == micro.targets.shape == micro.old_logprobs.shape
        first = micro.lengths.cumsum(0) - micro.lengths
        assert ids[at[first]].tolist() == [prompts[index][-1] for index in micro.index]
        later = torch.ones(len(at), dtype=torch.bool)
        later[first] = False
        assert torch.equal(ids[at[later]], micro.targets[later.roll(-1)])
    assert sorted(seen) == list(range(6))


def test_a_packed_prompt_stands_once_and_answers_count_on_from_it() -> None:
    groups = [
        make_group([1, 0, 1], [1, 3, 2], prompt_ids=np.arange(5)),
        make_group([1, 0], [2, 2], prompt_ids=np.arange(2)),
    ]
    (micro,) = micro_batches(collate(groups, DR_GRPO), can_share=True)
    cells = micro.cells
    assert micro.index == (1, 2, 3, 4, 0)  # the longest stands first
    assert cells.prompt_of.tolist() == [0, 0, 1, 1, 0]
    assert cells.prompts.tolist() == [5, 2]
    assert cells.answers.tolist() == micro.lengths.tolist() == [3, 2, 2, 2, 1]
    assert cells.input_ids[:7].tolist() == [0, 1, 2, 3, 4, 0, 1]
    assert cells.positions.tolist() == [0, 1, 2, 3, 4, 0, 1, 5, 6, 7, 5, 6, 2, 3, 2, 3, 5]
    assert cells.at.tolist() == [4, 7, 8, 4, 10, 6, 12, 6, 14, 4]
    assert torch.equal(cells.input_ids[7:], micro.targets)


@pytest.mark.parametrize("can_share", [False, True])
def test_micro_batches_stay_within_their_budget(can_share) -> None:
    rng = np.random.default_rng(0)
    groups = [make_group([1, 0] * 6, rng.integers(1, 6, 12)) for _ in range(8)]
    found = micro_batches(collate(groups, DR_GRPO), 30, can_share)
    assert sorted(i for micro in found for i in micro.index) == list(range(96))
    assert all(micro.cells.input_ids.numel() <= 30 for micro in found)
    assert all(isinstance(micro.cells, Packed) == can_share for micro in found)


def test_an_answer_longer_than_the_budget_stands_alone() -> None:
    batch = collate([make_group([1, 0, 1], [40, 2, 50])], DR_GRPO)
    for can_share in (False, True):
        found = micro_batches(batch, 30, can_share)
        assert [micro.index for micro in found] == [(2,), (0,), (1,)]


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_reward_that_is_not_finite_reaches_the_learner_and_no_other_group(bad, whiten) -> None:
    """Compared, it would make its group seem to agree; whitened, it would be in every group."""
    groups = [make_group([1, 0], [2, 3], key="a"), make_group([1, bad], [2, 3], key="b")]
    batch = collate(groups, Objective(whiten=whiten))
    found = {answer.index: bool(np.isfinite(answer.advantage)) for answer in batch.answers}
    assert found == {0: True, 1: True, 2: False, 3: False}
