"""A second, independent judge of the same answers. It pays nothing; it only tells."""

from __future__ import annotations

from collections.abc import Sequence

from evenodds.domain import Group, Verdict

Audit = Sequence[Sequence[Verdict]]
"""Verdicts of the audit, in the order of the groups and of their answers."""


def disagrees(paid: Verdict, audit: Verdict) -> bool:
    """Whether both could judge an answer, and one of them calls it right and the other does not."""
    if not (paid.is_judged and audit.is_judged):
        return False
    return is_right(paid) != is_right(audit)


def is_right(verdict: Verdict) -> bool:
    """Whether an answer is right: also one that is paid in full though the budget cut behind it."""
    return verdict.status == "right"


def disagreeing(group: Group, audit: Sequence[Verdict]) -> int:
    """How many answers of a group the two judges see differently."""
    pairs = zip(group.verdicts, audit, strict=True)
    return sum(disagrees(paid, second) for paid, second in pairs)
