"""The bench: what a verifier pays and refuses, tried before it may pay a reward."""

from __future__ import annotations

from evenodds.bench.case import CATEGORIES, Case
from evenodds.bench.check import Checked, check_task
from evenodds.bench.doubt import Doubtful, doubtful
from evenodds.bench.gold import GoldReport, check_all_golds
from evenodds.bench.report import Finding, Report, Row
from evenodds.bench.run import (
    bench_kind,
    bench_task,
    paid_forms,
    refusal,
    run_bench,
    short_bench,
)
from evenodds.bench.suite import SUITES

__all__ = [
    "CATEGORIES",
    "SUITES",
    "Case",
    "Checked",
    "Doubtful",
    "Finding",
    "GoldReport",
    "Report",
    "Row",
    "bench_kind",
    "bench_task",
    "check_all_golds",
    "check_task",
    "doubtful",
    "paid_forms",
    "refusal",
    "run_bench",
    "short_bench",
]
