"""How fast verdicts come: measured, printed, and not slower than what a run needs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from evenodds.domain import Completion, Problem, Status
from evenodds.judge import JudgeOptions, WorkerJudge, open_judge
from evenodds.judge.frames import Call
from evenodds.judge.opening import verdicts_of
from evenodds.verifiers import find_verifier

TEXT = "We want 6*7. First 6*7 = 6*5 + 6*2 = 30 + 12, which is 42. The answer is \\boxed{42}."
PROBLEM = Problem("k", "6*7=", "42", "t")


def test_number_verdicts_inline() -> None:
    verifier = find_verifier("number")
    pairs = [(PROBLEM, Completion(TEXT))] * 2000
    rates: list[float] = []
    with open_judge(verifier) as judge:
        verdicts_of(judge, pairs[:10])
        for _ in range(5):  # others share the machine, also its clock rate: the best round counts
            started = time.process_time()
            verdicts = verdicts_of(judge, pairs)
            rates.append(len(pairs) / (time.process_time() - started))
    rate = max(rates)
    print(f"\nnumber, inline: {rate:,.0f} verdicts a second of one core")
    assert {verdict.status for verdict in verdicts} == {Status.RIGHT}
    assert rate > 5000


@pytest.mark.skipif(sys.platform == "win32", reason="judges inline there")
def test_cheap_verdicts_through_workers(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def judge(problem, text): return problem.answer in text\n")
    verifier = find_verifier(f"{tmp_path / 'mine.py'}:judge")
    with open_judge(verifier, JudgeOptions(workers=2)) as judge:
        assert isinstance(judge, WorkerJudge)
        judge.answered([Call(PROBLEM, [Completion(TEXT)])] * 8)
        started = time.perf_counter()
        verdicts = judge.answered([Call(PROBLEM, [Completion(TEXT)])] * 2000)
        rate = 2000 / (time.perf_counter() - started)
    print(f"\na cheap function, two workers: {rate:,.0f} verdicts a second")
    assert {found[0].status for found in verdicts} == {Status.RIGHT}
    assert rate > 500
