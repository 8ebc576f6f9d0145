"""What counts as a fault, and how faults are counted."""

from __future__ import annotations

import json

import pytest

from evenodds.bench.case import CATEGORIES, asked, made
from evenodds.bench.report import Finding, Report, joined
from evenodds.domain import Status, Verdict

PROBLEM = asked("number", 0, "6*7=", "42")


def finding(expected: bool | None, score: float, status: Status, category: str = "hedging"):
    return Finding(made("number", category, PROBLEM, "text", expected), Verdict(score, status))


@pytest.mark.parametrize(
    ("expected", "score", "status", "payment", "refusal"),
    [
        (False, 1.0, Status.RIGHT, True, False),
        (False, 1.0, Status.TRUNCATED, True, False),
        (False, 2.5, Status.WRONG, True, False),
        (False, 0.5, Status.WRONG, False, False),
        (False, 0.0, Status.TIMEOUT, False, False),
        (True, 1.0, Status.RIGHT, False, False),
        (True, 0.9, Status.WRONG, False, True),
        (True, 0.0, Status.ERROR, False, True),
        (None, 1.0, Status.RIGHT, False, False),
        (None, 0.0, Status.WRONG, False, False),
    ],
)
def test_faults(expected, score, status, payment, refusal) -> None:
    found = finding(expected, score, status)
    assert (found.is_false_payment, found.is_false_refusal) == (payment, refusal)


def test_rows_count_by_category_in_order() -> None:
    findings = (
        finding(False, 1.0, Status.RIGHT),
        finding(False, 0.0, Status.WRONG),
        finding(True, 0.0, Status.WRONG, "right forms"),
        finding(None, 1.0, Status.RIGHT),
        finding(False, 0.0, Status.TIMEOUT, "hang"),
    )
    report = Report("number", findings, 2.0)
    assert [row.category for row in report.rows] == ["right forms", "hedging", "hang"]
    hedging = report.rows[1]
    assert (hedging.wrong, hedging.paid, hedging.policy, hedging.policy_paid) == (2, 1, 1, 1)
    low, high = hedging.paid_interval
    assert 0 < low < 0.5 < high < 1
    assert report.rate == 2.5 and report.count(Status.TIMEOUT) == 1
    assert [row.category for row in report.rows] == sorted(
        (row.category for row in report.rows), key=CATEGORIES.index
    )
    both = joined([report, report])
    assert len(both.findings) == 10 and both.seconds == 4.0


def test_the_record_is_json_whatever_the_text() -> None:
    case = made("number", "unicode", PROBLEM, "\ud800\x00" * 1_000, False)
    record = Report("number", (Finding(case, Verdict(1.0, Status.RIGHT)),), 0.0).to_dict()
    text = json.dumps(record, allow_nan=False)
    assert len(text) < 20_000 and json.loads(text)["false_payments"][0]["characters"] == 2_000
