"""Penalties that are part of the reward: for length, and for distance from the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from evenodds.domain import Group, Rollout, Verdict
from evenodds.objectives.objective import Objective

RESIDUE = 1e-4
"""Nats by which two programs differ on one token of one policy, in float32. No distance: a credit
that divides by a spread would make full advantages of it before anything was learned."""


def soft_overlong(length: int, max_tokens: int, share: float) -> float:
    """0 up to (1 - share) L tokens, then falling in a line to -1 at the budget L.

    With Lc = share · L: 0 if n <= L - Lc, else (L - Lc - n) / Lc, and -1 beyond L.
    DAPO, arXiv 2503.14476 eq. 13.
    """
    if length >= max_tokens:
        return -1.0  # exactly: share · L is not always a number that floats hold
    buffer = share * max_tokens
    over = length - (max_tokens - buffer)
    return -over / buffer if over > 0 else 0.0


def sequence_kl(rollout: Rollout) -> float:
    """Sum over the answer's tokens of k1 = log pi_old - log pi_ref. Unbiased for the KL of answers.

    Tokens on which the two differ by less than `RESIDUE` count as equal.

    A log-probability that is not finite gives a sum that is not, and the update is skipped. Raises
    ValueError where the reference was not asked.
    """
    if rollout.reference_logprobs is None:
        raise ValueError("a KL in the reward needs rollout.reference_logprobs")
    gap = np.subtract(rollout.logprobs, rollout.reference_logprobs, dtype=np.float64)
    return float(np.where(np.abs(gap) < RESIDUE, 0.0, gap).sum())  # NaN stays NaN


def _penalties(rollout: Rollout, objective: Objective) -> Mapping[str, float]:
    found: dict[str, float] = {}
    if objective.overlong > 0:
        budget = rollout.limits.max_tokens
        found["overlong"] = soft_overlong(rollout.ids.size, budget, objective.overlong)
    if objective.kl_reward != 0:
        found["kl"] = -objective.kl_reward * sequence_kl(rollout)
    return found


def _penalised(verdict: Verdict, penalties: Mapping[str, float]) -> Verdict:
    parts = verdict.parts or {"score": verdict.score}
    score = verdict.score + sum(penalties.values())
    return replace(verdict, score=score, parts={**parts, **penalties})


def unshaped(verdict: Verdict, objective: Objective) -> Verdict:
    """A verdict of `shaped` as the verifier gave it: without the objective's penalties."""
    coefficients = {"overlong": objective.overlong, "kl": objective.kl_reward}
    paid = {n: value for n, value in verdict.parts.items() if coefficients.get(n)}
    if not paid:
        return verdict
    parts = {name: value for name, value in verdict.parts.items() if name not in paid}
    # a score that had no parts was kept as it was; others come back but for rounding
    score = parts["score"] if set(parts) == {"score"} else verdict.score - sum(paid.values())
    return replace(verdict, score=score, parts=parts)


def shaped(group: Group, objective: Objective) -> Group:
    """The group with the objective's penalties in its rewards and their parts.

    Statuses stay: a penalty does not make a right answer wrong. Where groups that agree are
    refilled they are told by their answers alone, as DAPO has it: penalties for length would make
    a signal of a group that is all wrong. A group that was shaped before would be penalised twice.
    """
    if objective.overlong == 0 and objective.kl_reward == 0:
        return group
    if objective.zero_signal == "refill" and not group.is_informative:
        return group
    verdicts = [
        _penalised(verdict, _penalties(rollout, objective)) if verdict.is_judged else verdict
        for rollout, verdict in zip(group.rollouts, group.verdicts, strict=True)
    ]
    return Group(group.problem, group.rollouts, verdicts)
