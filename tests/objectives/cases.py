"""Random batches in float64, and the loss of one with its gradient by each answer's tokens.

An answer is known by its rollout's `seed`, a number of its own: orders and layouts may change, the
gradient by that answer may not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from evenodds.batch import Batch, collate, lay_out
from evenodds.domain import Extent, Group, Limits, Problem, Rollout, Status, Stop, Verdict
from evenodds.objectives import RECIPES, Objective, Tokens, make_objective, shaped

Arrays = dict[int, NDArray[np.float64]]

KEPT = {"zero_signal": "keep"}
VARIANTS = {
    **{
        f"{surrogate}, {reduce}": {"surrogate": surrogate, "reduce": reduce}
        for surrogate in ("clip", "dual_clip", "cispo", "reinforce", "soft_gate")
        for reduce in ("per_answer", "per_budget", "per_token")
    },
    **{
        f"gspo, {surrogate}": {"recipe": "gspo", "surrogate": surrogate}
        for surrogate in ("dual_clip", "cispo", "reinforce", "soft_gate")
    },
    **{
        f"grpo, {correction}": {"recipe": "grpo", "correction": correction, "correction_cap": 1.5}
        for correction in ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
    },
    **{f"grpo, {kl}": {"recipe": "grpo", "kl": 0.1, "kl_estimator": kl} for kl in ("k2", "k3")},
    **{
        f"dapo, weighted {kl}": {
            "recipe": "dapo", "kl": 0.1, "kl_estimator": kl, "kl_weighted": True
        }
        for kl in ("k1", "k2", "k3")
    },
    "dr_grpo, KL in the reward": {"kl": 0.05, "kl_in": "reward"},
    "gspo, KL": {"recipe": "gspo", "kl": 0.1},
    "cispo, sequence correction": {"recipe": "cispo", "correction": "sequence_mask"},
    "grpo, entropy": {"recipe": "grpo", "entropy": 0.05},
    "rloo, kept, whitened": {"recipe": "rloo", "whiten": True} | KEPT,
    "grpo, kept, KL": {"recipe": "grpo", "kl": 0.1} | KEPT,
    "maxrl, truncated scored": {"recipe": "maxrl", "mask_truncated": False},
    "dr_grpo, overlong": {"mask_truncated": False, "overlong": 0.4},
    "grpo, sample std": {"recipe": "grpo", "credit": "standardized_sample"},
    "everything": {
        "recipe": "dual_clip", "whiten": True, "correction": "token_truncate", "kl": 0.1,
        "kl_weighted": True, "entropy": 0.02, "mask_truncated": False, "overlong": 0.3,
    } | KEPT,
}  # fmt: skip
OBJECTIVES: dict[str, Objective] = RECIPES | {n: make_objective(**s) for n, s in VARIANTS.items()}
"""All recipes, and every choice on every axis at least once."""

BUDGET = 9


@dataclass(frozen=True)
class Case:
    """Groups, and what the policy that is trained says of each answer, all by rollout seed."""

    groups: list[Group]
    current: Arrays
    first: Arrays
    entropy: Arrays


@dataclass(frozen=True)
class Result:
    """The loss, and its gradient by the log-probabilities and entropies of each answer."""

    loss: float
    gradient: Arrays
    entropy_gradient: Arrays


def draw_rewards(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    kind = rng.integers(4)
    if kind == 0:
        return np.full(size, rng.choice([0.0, 0.1, 1.0]))
    if kind == 1:
        return rng.integers(-8, 9, size) / 4
    return rng.integers(0, 2, size).astype(float)


def draw(rng: np.random.Generator, scale: float | None = None) -> Case:
    """1 to 4 groups of 1 to 5 answers of 0 to BUDGET tokens; some cut, some not judged.

    scale: of the log ratios; drawn where it is not given.
    """
    groups, current, first, entropy = [], {}, {}, {}
    spread = float(rng.choice([0.0, 0.1, 0.5, 3.0])) if scale is None else scale
    seed = 0
    for number in range(rng.integers(1, 5)):
        size = int(rng.integers(1, 6))
        rollouts, verdicts = [], []
        for reward in draw_rewards(rng, size):
            seed += 1
            length = int(rng.integers(0 if rng.random() < 0.1 else 1, BUDGET + 1))
            old = -2 * rng.random(length)
            cut = rng.random() < 0.15
            rollouts.append(
                Rollout(
                    np.arange(12) + number,
                    rng.integers(0, 50, length),
                    old,
                    Stop.BUDGET if cut else Stop.END_TOKEN,
                    "",
                    seed=seed,
                    limits=Limits(BUDGET),
                    reference_logprobs=old + 0.3 * rng.standard_normal(length),
                )
            )
            first[seed] = old + 0.3 * rng.standard_normal(length)
            current[seed] = old + spread * rng.standard_normal(length)
            entropy[seed] = rng.random(length)
            judged = rng.random() > 0.1
            status = (Status.RIGHT if reward == 1 else Status.WRONG) if judged else Status.TIMEOUT
            verdicts.append(Verdict(float(reward) if judged else np.nan, status))
        groups.append(Group(Problem(f"p{number}", "", "", "t"), rollouts, verdicts))
    return Case(groups, current, first, entropy)


def batch_of(case: Case, objective: Objective) -> tuple[Batch, list[int]]:
    """The batch as a step makes it, and the rollout seed of each index in it."""
    groups = [shaped(group, objective) for group in case.groups]
    batch = collate(groups, objective)
    seeds = [rollout.seed for group in groups for rollout in group.rollouts]
    firsts = dict(enumerate(case.first[seed] for seed in seeds))
    return batch.with_first({a.index: firsts[a.index] for a in batch.answers}), seeds


def whole(case: Case, objective: Objective, parts: Sequence[Sequence[int]] | None = None) -> Result:
    """The loss from flat tokens that are put together here, without `lay_out`.

    parts: answers of each micro-batch by their place in the batch; all in one where not given.
    """
    batch, seeds = batch_of(case, objective)
    answers = batch.answers
    if not answers:
        return Result(0.0, {}, {})
    pieces = []
    for part in parts or [range(len(answers))]:
        chosen = [answers[place] for place in part]
        lengths = torch.tensor([a.ids.size for a in chosen])
        rollout = torch.repeat_interleave(torch.arange(len(chosen)), lengths)
        credit = torch.tensor([a.advantage for a in chosen], dtype=torch.float64)

        def joined(arrays):
            return torch.from_numpy(np.concatenate(arrays))

        names = [seeds[a.index] for a in chosen]
        pieces.append(
            (
                names,
                Tokens(
                    joined([case.current[name] for name in names]).requires_grad_(),
                    joined([a.old_logprobs for a in chosen]),
                    credit[rollout],
                    rollout,
                    lengths,
                    joined([a.first_logprobs for a in chosen]),
                    joined([a.reference_logprobs for a in chosen]),
                    joined([case.entropy[name] for name in names]).requires_grad_(),
                ),
            )
        )
    return scored(pieces, batch.extent, objective)


def laid_out(case: Case, objective: Objective, budget: int, can_share: bool) -> Result:
    """The loss as the learner gets it: through `lay_out`."""
    batch, seeds = batch_of(case, objective)
    pieces = []
    for micro in lay_out(batch, budget, pad_id=0, device=torch.device("cpu"), can_share=can_share):
        names = [seeds[index] for index in micro.index]
        current, entropy = (
            torch.from_numpy(np.concatenate([arrays[name] for name in names])).requires_grad_()
            for arrays in (case.current, case.entropy)
        )
        pieces.append((names, micro.tokens(current, entropy)))
    return scored(pieces, batch.extent, objective)


def scored(
    pieces: Sequence[tuple[list[int], Tokens]], extent: Extent, objective: Objective
) -> Result:
    loss, gradient, entropy_gradient = 0.0, {}, {}
    for names, tokens in pieces:
        part = objective.score(tokens, extent).loss
        loss += float(part.detach())
        by_logprob, by_entropy = torch.autograd.grad(
            part, [tokens.logprobs, tokens.entropy], allow_unused=True
        )
        for into, found in ((gradient, by_logprob), (entropy_gradient, by_entropy)):
            full = torch.zeros_like(tokens.logprobs) if found is None else found
            split = full.split(tokens.lengths.tolist())
            into.update(zip(names, (g.numpy() for g in split), strict=True))
    return Result(loss, gradient, entropy_gradient)


def assert_same(found: Result, expected: Result, note: object) -> None:
    assert found.loss == np.float64(expected.loss) or np.isclose(
        found.loss, expected.loss, rtol=1e-9, atol=1e-12
    ), note
    for one, other in (
        (found.gradient, expected.gradient),
        (found.entropy_gradient, expected.entropy_gradient),
    ):
        assert one.keys() == other.keys(), note
        for name, values in other.items():
            np.testing.assert_allclose(one[name], values, rtol=1e-9, atol=1e-12, err_msg=str(note))


def regrouped(case: Case, groups: list[Group]) -> Case:
    return replace(case, groups=groups)


def each_rollout(case: Case, change: Callable[[Rollout, Verdict], Rollout]) -> Case:
    """The case with every rollout changed."""
    groups = [
        Group(
            group.problem,
            [change(r, v) for r, v in zip(group.rollouts, group.verdicts, strict=True)],
            group.verdicts,
        )
        for group in case.groups
    ]
    return replace(case, groups=groups)
