"""No forgery of a code reward is paid, and a canary right after each one is right.

Each forgery against one form of tests; against every form with EVENODDS_ALL_CASES set.
"""

from __future__ import annotations

import json
import os
import time

import pytest

from evenodds.domain import Completion, Problem, Status
from evenodds.verifiers import find_verifier
from evenodds.verifiers.code.forgeries import PRINTERS, forgeries
from tests.sandbox.opened import needs_sandbox

pytestmark = needs_sandbox

ALL = "EVENODDS_ALL_CASES" in os.environ
FORMS = {
    "asserts": {"test_list": ["assert solve([3, 4], 5) == 12", "assert solve([2, 2], 7) == 11"]},
    "check": {
        "entry_point": "solve",
        "prompt": 'def solve(a, b):\n    """The sum of a, and b."""\n',
        "test": "def check(candidate):\n    assert candidate([3, 4], 5) == 12\n"
        "    assert abs(candidate([2, 2], 7) - 11) < 1e-6\n",
    },
    "calls": {"fn_name": "solve", "inputs": [[[3, 4], 5], [[2, 2], 7]], "outputs": [12, 11]},
}
SHARES = {"asserts": (0, 2), "check": (1,), "calls": (3,)}
CANARY = Completion("```python\ndef solve(a, b):\n    return sum(a) + b\n```")
VERIFIER = find_verifier("code", {"seconds": 0.3, "total_seconds": 2.0})
FORGERIES = forgeries("solve")


def test_there_are_many_and_each_has_a_name() -> None:
    assert len(FORGERIES) >= 80
    assert len({name for name, _ in FORGERIES}) == len(FORGERIES)
    assert all("NAME" not in program for _, program in FORGERIES)


@pytest.mark.parametrize("form", list(FORMS))
def test_no_forgery_is_paid(form: str) -> None:
    problem = Problem("k", "p", json.dumps(FORMS[form]), "t")
    chosen = FORGERIES if ALL else [f for at, f in enumerate(FORGERIES) if at % 4 in SHARES[form]]
    started, paid, broken = time.perf_counter(), [], []
    for name, program in chosen:
        verdict = VERIFIER(problem, Completion(f"```python\n{program}\n```"))
        if verdict.score or verdict.status is not Status.WRONG:
            paid.append((name, verdict))
        canary = VERIFIER(problem, CANARY)
        if canary.status is not Status.RIGHT:
            broken.append((name, canary))
    seconds = time.perf_counter() - started
    print(f"\n{len(chosen)} forgeries against {form}: {len(paid)} paid, {seconds:.1f} s")
    assert paid == []
    assert broken == []


def test_no_printing_forgery_is_paid() -> None:
    gold = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
    problem = Problem("k", "p", json.dumps(gold), "t")
    canary = Completion("```python\nprint(sum(map(int, input().split())))\n```")
    for name, program in PRINTERS.items():
        verdict = VERIFIER(problem, Completion(f"```python\n{program}\n```"))
        assert (verdict.score, verdict.status) == (0.0, Status.WRONG), name
        assert VERIFIER(problem, canary).status is Status.RIGHT, name
