"""Whether the objective pushes towards what is paid: its own gradient, by log-probabilities alone.

No model is asked: answers with made-up rewards go through credit, collation and loss, at a ratio of
1 and beside a reference that is the policy itself, as in the first update of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from evenodds.batch import collate, lay_out
from evenodds.domain import Group, Problem, Rollout, Status, Verdict
from evenodds.objectives import Objective
from evenodds.run.preflight.finding import Finding
from evenodds.run.preflight.ground import Ground

ALL = 2**30  # tokens of a micro-batch into which everything goes
MOST = 64  # answers of a group


@dataclass(frozen=True)
class Push:
    """Minus the gradient by log-probabilities, summed over paid answers and over unpaid ones.

    most: the largest of them by size.
    """

    paid: float
    unpaid: float
    most: float


def paid_groups(problem: Problem, rollout: Rollout, size: int) -> list[Group]:
    """Groups of the same answer, of which one, half, and all but one are paid."""
    one = replace(rollout, reference_logprobs=rollout.logprobs)
    found: list[Group] = []
    for right in (1, size // 2, size - 1):
        pays = [Verdict(1.0, Status.RIGHT)] * right + [Verdict(0.0, Status.WRONG)] * (size - right)
        found.append(Group(problem, [one] * size, pays))
    return found


def push(objective: Objective, groups: Sequence[Group]) -> Push:
    """groups: with rewards of 0 and 1."""
    batch = collate(groups, replace(objective, mask_truncated=False))
    if not batch.prompts:
        return Push(0.0, 0.0, 0.0)
    rights = [verdict.score for group in groups for verdict in group.verdicts]
    cpu = torch.device("cpu")
    (micro,) = lay_out(batch, ALL, pad_id=0, device=cpu, can_share=False)
    logprobs = micro.old_logprobs.clone().requires_grad_()
    tokens = micro.tokens(logprobs, torch.zeros_like(micro.old_logprobs))
    objective.score(tokens, batch.extent).loss.backward()
    down = torch.zeros_like(logprobs) if logprobs.grad is None else -logprobs.grad
    paid = torch.tensor([rights[index] > 0 for index in micro.index])[micro.rollout]
    return Push(float(down[paid].sum()), float(down[~paid].sum()), float(down.abs().max()))


def objective(given: Objective, groups: Sequence[Group]) -> Finding:
    """groups: see `paid_groups`."""
    found = push(given, groups)
    if not found.most:
        return _still(given)
    if found.paid > found.unpaid:
        return Finding("objective", "fine", "paid answers become more likely than unpaid ones")
    return Finding(
        "objective",
        "fatal",
        f"the first step moves log-probabilities of paid answers by {found.paid:+.2g} in all, and "
        f"those of unpaid ones by {found.unpaid:+.2g}",
        "what is paid does not become more likely than what is not: the reward is not learned",
        "the sign of credit, surrogate or reduction of your own, or --objective.recipe dr_grpo",
    )


def _still(given: Objective) -> Finding:
    """No token has a gradient."""
    what, change = "rewards of 0 and 1 give no token a gradient", "--objective.recipe dr_grpo"
    correction = given.correction
    if correction is not None and correction.cap < 1:
        what += (
            ": where sampler and learner agree the weight of a token is 1, above the cap of "
            f"{correction.cap:g}"
        )
        change = "--objective.correction_cap 2"
    return Finding("objective", "fatal", what, "nothing would ever be learned", change)


def look_at_objective(ground: Ground) -> Finding:
    """Answers that differ in nothing but their reward: no length weighs one side more."""
    trial, size = ground.trial, min(MOST, ground.plan.config.sampling.group_size)
    return objective(ground.objective, paid_groups(trial.problems[0], trial.groups[0][0], size))
