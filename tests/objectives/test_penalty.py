"""What is added to a surrogate: KL estimators, corrections, entropy and its coefficient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenodds.domain import Extent
from evenodds.errors import UsageError
from evenodds.objectives import EntropyBonus, Tokens, make_objective
from evenodds.objectives.coefficient import make_bonus
from evenodds.objectives.correction import CORRECTIONS
from evenodds.objectives.penalty import ESTIMATORS, KL, k1, k2, k3

GAPS = st.floats(-30, 30, allow_nan=False)


def flat(current, old, advantage=1.0, lengths=None, **known) -> Tokens:
    """Tokens from lists; one answer unless lengths are given."""
    lengths = torch.tensor(lengths or [len(current)])
    rollout = torch.arange(len(lengths)).repeat_interleave(lengths)
    made = {k: torch.tensor(v, dtype=torch.float64) for k, v in known.items()}
    return Tokens(
        torch.tensor(current, dtype=torch.float64).requires_grad_(),
        torch.tensor(old, dtype=torch.float64),
        torch.full((len(current),), advantage, dtype=torch.float64),
        rollout,
        lengths,
        **made,
    )


@given(gap=GAPS)
def test_k2_and_k3_are_never_negative_and_all_are_0_where_the_policies_agree(gap) -> None:
    value = torch.tensor([gap], dtype=torch.float64)
    assert float(k2(value)) >= 0
    assert float(k3(value)) >= -1e-12
    assert float(k1(value)) == -gap
    nothing = torch.zeros(3, dtype=torch.float64)
    assert [estimator(nothing).tolist() for estimator in ESTIMATORS.values()] == [[0.0] * 3] * 3


def test_the_estimators_are_those_of_schulman() -> None:
    gap = torch.tensor([0.5, -0.25], dtype=torch.float64)
    assert k1(gap).tolist() == [-0.5, 0.25]
    assert k2(gap).tolist() == [0.125, 0.03125]
    assert k3(gap).tolist() == pytest.approx([np.exp(0.5) - 1.5, np.exp(-0.25) - 0.75], abs=1e-15)


@pytest.mark.parametrize("estimator", sorted(ESTIMATORS))
@pytest.mark.parametrize("weighted", [False, True])
def test_a_kl_is_a_coefficient_times_its_estimator_times_the_ratio_where_weighted(
    estimator, weighted
) -> None:
    tokens = flat([-1.0, -2.0], [-1.2, -1.5], reference_logprobs=[-0.5, -2.5])
    log_ratio = tokens.logprobs - tokens.old_logprobs
    gap = torch.tensor([0.5, -0.5], dtype=torch.float64)
    expected = 0.3 * ESTIMATORS[estimator](gap)
    if weighted:
        expected = expected * torch.tensor([0.2, -0.5], dtype=torch.float64).exp()
    found = KL(0.3, estimator, weighted)(log_ratio, tokens)
    assert found.tolist() == pytest.approx(expected.tolist())


def test_a_kl_in_the_loss_has_the_weight_of_its_token_and_pulls_to_the_reference() -> None:
    tokens = flat([-1.0, -2.0], [-1.0, -2.0], 0.0, reference_logprobs=[-0.5, -2.5])
    objective = make_objective("grpo", kl=0.1, kl_estimator="k2")
    scored = objective.score(tokens, Extent(2, 1, 8))
    assert float(scored.loss.detach()) == pytest.approx(0.1 * (0.125 + 0.125) / 2)
    (gradient,) = torch.autograd.grad(-scored.loss, tokens.logprobs)
    assert gradient.tolist() == pytest.approx([0.1 * 0.5 / 2, -0.1 * 0.5 / 2])


def test_a_kl_without_a_reference_is_an_error_not_a_silence() -> None:
    with pytest.raises(ValueError, match="reference_logprobs"):
        make_objective(kl=0.1).score(flat([-1.0], [-1.0]), Extent(1, 1, 8))
    with pytest.raises(ValueError, match="first_logprobs"):
        make_objective(correction="token_mask").score(flat([-1.0], [-1.0]), Extent(1, 1, 8))


OLD, FIRST = [-1.0, -1.0, -1.0, -1.0], [-0.9, -1.6, 0.2, -1.0]  # gaps .1, -.6, 1.2 | 0
RATIOS = np.exp([0.1, -0.6, 1.2, 0.0])
WHOLE = np.exp([0.7, 0.7, 0.7, 0.0])


@pytest.mark.parametrize(
    ("name", "cap", "expected"),
    [
        ("token_truncate", 2.0, np.minimum(RATIOS, 2.0)),
        ("token_mask", 2.0, RATIOS * [1, 1, 0, 1]),
        ("sequence_truncate", 2.0, [2.0, 2.0, 2.0, 1.0]),
        ("sequence_truncate", 3.0, WHOLE),
        ("sequence_mask", 2.0, [0.0, 0.0, 0.0, 1.0]),
        ("sequence_mask", 3.0, WHOLE),
    ],
)
def test_correction_weights(name, cap, expected) -> None:
    tokens = flat(OLD, OLD, lengths=[3, 1], first_logprobs=FIRST)
    weight = replace(CORRECTIONS[name], cap=cap)(tokens)
    assert weight.tolist() == pytest.approx(list(expected))
    assert not weight.requires_grad


@given(
    gaps=st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6),
    cap=st.floats(0.1, 10),
    name=st.sampled_from(sorted(CORRECTIONS)),
)
def test_a_correction_never_weighs_more_than_its_cap(gaps, cap, name) -> None:
    old = [-1.0] * len(gaps)
    tokens = flat(old, old, first_logprobs=[gap - 1.0 for gap in gaps])
    weight = replace(CORRECTIONS[name], cap=cap)(tokens)
    assert ((weight >= 0) & (weight <= cap)).all()


def test_a_corrected_gradient_is_the_plain_one_times_the_weight() -> None:
    tokens = flat(FIRST, OLD, lengths=[3, 1], first_logprobs=FIRST)
    objective = make_objective("grpo", correction="token_truncate")
    loss = objective.score(tokens, Extent(4, 2, 8)).loss
    (gradient,) = torch.autograd.grad(-loss, tokens.logprobs)
    expected = np.minimum(RATIOS, 2.0) / [6, 6, 6, 2]
    assert gradient.tolist() == pytest.approx(expected.tolist())
    live = replace(tokens, first_logprobs=tokens.logprobs)
    assert not CORRECTIONS["token_truncate"](live).requires_grad


def test_an_entropy_bonus_raises_the_entropy() -> None:
    logits = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)
    entropy = -(logits.log_softmax(-1).exp() * logits.log_softmax(-1)).sum()
    tokens = replace(flat([-1.0], [-1.0], 0.0), entropy=entropy[None])
    loss = make_objective(entropy=0.5).score(tokens, Extent(1, 1, 1)).loss
    (by_logits,) = torch.autograd.grad(-loss, logits, retain_graph=True)
    (of_entropy,) = torch.autograd.grad(entropy, logits)
    assert by_logits.tolist() == pytest.approx((0.5 * of_entropy).tolist())
    assert float(by_logits @ of_entropy) > 0


def test_without_a_bonus_the_entropy_is_not_touched() -> None:
    tokens = replace(flat([-1.0], [-1.0], 0.0), entropy=torch.full((1,), torch.nan).double())
    assert float(make_objective().score(tokens, Extent(1, 1, 1)).loss.detach()) == 0


@given(seen=st.lists(st.floats(0, 2), min_size=1, max_size=30), start=st.floats(0, 0.02))
def test_the_coefficient_follows_its_target_and_is_never_negative(seen, start) -> None:
    bonus = EntropyBonus(1.0, start)
    for entropy in seen:
        after = bonus.observe(entropy)
        assert after.coefficient >= 0
        if entropy < 1.0:
            assert after.coefficient == pytest.approx(bonus.coefficient + 0.005)
            assert after.paid == after.coefficient
        else:
            assert after.coefficient == pytest.approx(max(0.0, bonus.coefficient - 0.005))
            assert after.paid == (0.0 if entropy > 1.0 else after.coefficient)
        assert EntropyBonus.from_dict(after.to_dict()) == after
        bonus = after


def test_the_objective_pays_what_the_bonus_says() -> None:
    bonus = EntropyBonus(0.3, 0.01)
    assert bonus.applied(make_objective()).entropy == 0.01
    assert bonus.observe(0.5).applied(make_objective(entropy=0.2)).entropy == 0.0


def test_a_fixed_coefficient_has_no_bonus_and_a_step_without_a_target_is_refused() -> None:
    assert make_bonus(0.01, None, None) is None
    assert make_bonus(0.0, 0.3, None) == EntropyBonus(0.3, 0.0, 0.005)
    assert make_bonus(0.0, 0.3, 0.001) == EntropyBonus(0.3, 0.0, 0.001)
    with pytest.raises(UsageError, match=r"there is no objective\.entropy_target"):
        make_bonus(0.0, None, 0.001)
