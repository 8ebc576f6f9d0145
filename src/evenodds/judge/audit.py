"""A second, independent judge of the same answers. It pays nothing; it only tells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenodds.domain import Group, Status, Verdict
from evenodds.statistics import clustered_rate

Audit = Sequence[Sequence[Verdict]]
"""Verdicts of the audit, in the order of the groups and of their answers."""


def is_right(verdict: Verdict) -> bool:
    """Whether a judge calls an answer right."""
    return verdict.status is Status.RIGHT


def disagrees(paid: Verdict, audit: Verdict) -> bool:
    """Whether both could judge an answer, and one of them calls it right and the other does not."""
    return paid.is_judged and audit.is_judged and is_right(paid) != is_right(audit)


def overpaid(paid: Verdict, audit: Verdict) -> bool:
    """Whether the verifier calls an answer right that the audit does not."""
    return disagrees(paid, audit) and is_right(paid)


def audit_metrics(groups: Sequence[Group], audit: Audit) -> dict[str, float]:
    """Shares of the answers that both judges could judge, under the names of docs/metrics.md.

    `audit/disagreement_low` and `_high` are the ends of a 95 % interval whose unit is the group,
    for answers to one problem resemble each other. Empty where there is no such answer.
    """
    pairs = [
        [(p, a) for p, a in zip(group.verdicts, said, strict=True) if p.is_judged and a.is_judged]
        for group, said in zip(groups, audit, strict=True)
    ]
    tries = np.array([len(pair) for pair in pairs])
    if not tries.sum():
        return {}
    differ = np.array([sum(disagrees(*one) for one in pair) for pair in pairs])
    over = sum(overpaid(*one) for pair in pairs for one in pair)
    interval = clustered_rate(differ, tries)
    total = int(tries.sum())
    return {
        "audit/judged": total,
        "audit/disagreement": float(differ.sum()) / total,
        "audit/disagreement_low": interval.low,
        "audit/disagreement_high": interval.high,
        "audit/overpaid": over / total,
        "audit/underpaid": float(differ.sum() - over) / total,
    }
