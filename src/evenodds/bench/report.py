"""What a bench found: counts by category, with intervals, and the faults themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evenodds.bench.case import CATEGORIES, Case
from evenodds.domain import Status, Verdict
from evenodds.statistics import wilson_interval

FULL = 1.0 - 1e-9
SHOWN = 400
"""Characters of a hostile text that a record keeps."""


@dataclass(frozen=True)
class Finding:
    """A case and what the verifier said."""

    case: Case
    verdict: Verdict

    @property
    def is_paid(self) -> bool:
        """Paid in full. A part of a reward, for the format say, is no payment of the answer."""
        return self.verdict.status is Status.RIGHT or self.verdict.score >= FULL

    @property
    def is_false_payment(self) -> bool:
        return self.case.expected is False and self.is_paid

    @property
    def is_false_refusal(self) -> bool:
        return self.case.expected is True and not self.is_paid

    def to_dict(self) -> dict[str, object]:
        """Text and verdict; a long text is cut, and its whole length is told."""
        text = self.case.completion.text
        return {
            "kind": self.case.kind,
            "category": self.case.category,
            "note": self.case.note,
            "gold": self.case.problem.answer[:SHOWN],
            "text": text[:SHOWN],
            "characters": len(text),
            "stop": str(self.case.completion.stop),
            "prompt_tail": self.case.completion.prompt_tail,
            "expected": self.case.expected,
            "status": str(self.verdict.status),
            "score": self.verdict.score,
            "extracted": self.verdict.extracted,
            "how": self.verdict.note,
            "seconds": self.verdict.seconds,
        }


@dataclass(frozen=True)
class Row:
    """The counts of one category of one kind.

    right, refused: cases that must be paid, and how many were not. wrong, paid: cases that must
    not be paid, and how many were. policy, policy_paid: those that a policy decides.
    """

    kind: str
    category: str
    right: int
    refused: int
    wrong: int
    paid: int
    policy: int
    policy_paid: int

    @property
    def refused_interval(self) -> tuple[float, float]:
        return wilson_interval(self.refused, self.right)

    @property
    def paid_interval(self) -> tuple[float, float]:
        return wilson_interval(self.paid, self.wrong)

    def to_dict(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "category": self.category,
            "must_be_paid": self.right,
            "false_refusals": self.refused,
            "false_refusals_95": self.refused_interval if self.right else None,
            "must_not_be_paid": self.wrong,
            "false_payments": self.paid,
            "false_payments_95": self.paid_interval if self.wrong else None,
            "by_policy": self.policy,
            "by_policy_paid": self.policy_paid,
        }


def _row(kind: str, category: str, findings: Sequence[Finding]) -> Row:
    right = [f for f in findings if f.case.expected is True]
    wrong = [f for f in findings if f.case.expected is False]
    policy = [f for f in findings if f.case.expected is None]
    return Row(
        kind,
        category,
        len(right),
        sum(f.is_false_refusal for f in right),
        len(wrong),
        sum(f.is_false_payment for f in wrong),
        len(policy),
        sum(f.is_paid for f in policy),
    )


@dataclass(frozen=True)
class Report:
    """All that a bench found about one verifier.

    seconds: the wall clock of the whole bench, with the start of workers. left_out: cases that a
    limit of time left no room for.
    """

    verifier: str
    findings: tuple[Finding, ...]
    seconds: float
    left_out: int = 0

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """By kind, and within it in the order of `CATEGORIES`."""
        kinds = dict.fromkeys(f.case.kind for f in self.findings)
        return tuple(
            _row(kind, category, found)
            for kind in kinds
            for category in CATEGORIES
            if (
                found := [
                    f for f in self.findings if (f.case.kind, f.case.category) == (kind, category)
                ]
            )
        )

    @cached_property
    def total(self) -> Row:
        return _row("", "all", self.findings)

    @cached_property
    def false_payments(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.is_false_payment)

    @cached_property
    def false_refusals(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.is_false_refusal)

    @property
    def slowest(self) -> Finding | None:
        return max(self.findings, key=lambda f: f.verdict.seconds, default=None)

    @property
    def rate(self) -> float:
        """Verdicts a second of judging, all workers together."""
        return len(self.findings) / self.seconds if self.seconds > 0 else 0.0

    def count(self, status: Status) -> int:
        return sum(f.verdict.status is status for f in self.findings)

    def counts(self) -> dict[str, object]:
        """For the checker passport: what was tried and how it went, without clock times."""
        return {
            "cases": len(self.findings),
            "left_out": self.left_out,
            "timeouts": self.count(Status.TIMEOUT),
            "errors": self.count(Status.ERROR),
            "total": self.total.to_dict(),
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_dict(self) -> dict[str, object]:
        """For `--json`: the counts, every fault with its text, and the speed."""
        slowest = self.slowest
        return {
            "verifier": self.verifier,
            "cases": len(self.findings),
            "left_out": self.left_out,
            "total": self.total.to_dict(),
            "rows": [row.to_dict() for row in self.rows],
            "false_payments": [f.to_dict() for f in self.false_payments],
            "false_refusals": [f.to_dict() for f in self.false_refusals],
            "timeouts": self.count(Status.TIMEOUT),
            "errors": self.count(Status.ERROR),
            "seconds": self.seconds,
            "verdicts_per_second": self.rate,
            "slowest": None if slowest is None else slowest.to_dict(),
        }


def joined(reports: Sequence[Report]) -> Report:
    """Several benches of one verifier as one."""
    findings = tuple(finding for report in reports for finding in report.findings)
    seconds, left = (sum(getattr(r, name) for r in reports) for name in ("seconds", "left_out"))
    return Report(reports[0].verifier, findings, seconds, left)
