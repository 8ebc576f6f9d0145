"""Real data: every reference solution is right, and one that was spoiled is wrong.

All of it with EVENODDS_ALL_CASES in the environment; a share of it otherwise.
"""

from __future__ import annotations

import ast
import gzip
import json
import os
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evenodds.domain import Completion, Problem, Status
from evenodds.verifiers import find_verifier
from tests.sandbox.opened import needs_sandbox

pytestmark = needs_sandbox

DATA = Path(__file__).parents[2].parent / "shared" / "data"
STEP = 1 if "EVENODDS_ALL_CASES" in os.environ else 12
VERIFIER = find_verifier("code")


def judged(gold: dict[str, Any], program: str) -> Status:
    problem = Problem("k", "p", json.dumps(gold), "t")
    return VERIFIER(problem, Completion(f"```python\n{program}\n```")).status


def spoiled(program: str) -> str:
    """The program with what each of its functions returns replaced by a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in the data is the data's own matter
        tree = ast.parse(program)
    for node in ast.walk(tree):
        if isinstance(node, ast.Return):
            node.value = ast.Constant("spoiled")
    return ast.unparse(tree)


def report(name: str, rows: list[tuple[dict[str, Any], str]]) -> None:
    started = time.perf_counter()
    right = Counter(judged(gold, program) for gold, program in rows)
    seconds = time.perf_counter() - started
    wrong = Counter(judged(gold, spoiled(program)) for gold, program in rows[::2])
    print(
        f"\n{name}: {len(rows)} references in {seconds:.1f} s {dict(right)}; spoiled {dict(wrong)}"
    )
    assert right == {Status.RIGHT: len(rows)}
    assert wrong == {Status.WRONG: len(rows[::2])}


def test_humaneval() -> None:
    file = DATA / "HumanEval.jsonl.gz"
    if not file.is_file():
        pytest.skip(f"{file} is not here")
    with gzip.open(file, "rt") as lines:
        rows = [json.loads(line) for line in lines][::STEP]
    keys = ("entry_point", "test", "prompt")
    report(
        "HumanEval",
        [({k: row[k] for k in keys}, row["prompt"] + row["canonical_solution"]) for row in rows],
    )


def test_mbpp() -> None:
    file = DATA / "mbpp_sanitized.json"
    if not file.is_file():
        pytest.skip(f"{file} is not here")
    rows = json.loads(file.read_text())[::STEP]
    keys = ("test_list", "test_imports")
    report("MBPP", [({k: row[k] for k in keys}, row["code"]) for row in rows])
