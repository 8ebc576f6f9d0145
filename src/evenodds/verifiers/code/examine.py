"""Runs tests that call the program: tests and program in two sandboxed processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from evenodds.sandbox import Job, Limits, Outcome, Sandbox
from evenodds.verifiers.code.gold import Asserts, Calls, Check
from evenodds.verifiers.code.policy import Policy, spread

EXAMINER, SOLVER = (
    f"from evenodds.sandbox.talk import {name}\n{name}.main()\n" for name in ("examiner", "solver")
)
MIB = 1 << 20
NO_PYTHON = ("SyntaxError", "IndentationError", "TabError")
STOPPED: Mapping[str, str] = {"timeout": "ran out of time", "output": "printed without end"}


@dataclass(frozen=True)
class Result:
    """How tests ended. note: what the first failure was. failed: the sandbox or the gold did.

    is_no_program: the program could not even be read as Python.
    """

    passed: int
    tests: int
    note: str = ""
    failed: str = ""
    is_gold: bool = False
    is_no_program: bool = False

    @property
    def is_right(self) -> bool:
        return self.passed == self.tests and not self.failed


def limits_of(policy: Policy, total: float | None = None) -> Limits:
    return Limits(
        seconds=policy.seconds,
        total=policy.total_seconds if total is None else total,
        memory=policy.memory_mb * MIB,
    )


def examine(
    sandbox: Sandbox, program: str, tests: Calls | Check | Asserts, gold: str, policy: Policy
) -> Result:
    """Run the tests of a gold against a program."""
    files, count = _files(tests, policy)
    job = {
        "in_place": policy.in_place == "if_none",
        "all": policy.partial,
        # not to be guessed by one who has not seen the tests, and the same each time
        "seed": int(hashlib.sha256(gold.encode("utf-8", "replace")).hexdigest()[:12], 16),
    }
    job |= files.pop("job")
    trusted = Job(EXAMINER, files={**files, "job.json": json.dumps(job)})
    untrusted = Job(SOLVER, files={"solution.py": program})
    return _result(*sandbox.converse(trusted, untrusted, limits_of(policy)), count)


def _files(tests: Calls | Check | Asserts, policy: Policy) -> tuple[dict[str, Any], int]:
    """The files of the examiner, `job` among them as a table, and the number of tests."""
    if isinstance(tests, Check):
        job = {"kind": "check", "entry_point": tests.name}
        return {"job": job, "tests.py": f"{tests.prompt}\n{tests.source}"}, 1
    if isinstance(tests, Asserts):
        files: dict[str, Any] = {f"test_{at}.py": test for at, test in enumerate(tests.tests)}
        job = {"kind": "asserts", "tests": len(tests.tests), "entry_point": tests.name}
        return {"job": job, "setup.py": tests.setup, **files}, len(tests.tests)
    cases = spread(tests.cases, policy.max_tests)
    job = {"kind": "calls", "fn_name": tests.name, "cases": cases, "tolerance": policy.tolerance}
    return {"job": job}, len(cases)


def _result(trusted: Outcome, untrusted: Outcome, count: int) -> Result:
    for outcome in (trusted, untrusted):
        if outcome.status == "error":
            return Result(0, count, failed=outcome.last_words[:200])
    lines = [_line(line) for line in trusted.stdout.splitlines()]
    gold = next((line["gold"] for line in lines if "gold" in line), None)
    if gold is not None:
        return Result(0, count, failed=str(gold), is_gold=True)
    passed = sum(line.get("passed") is True for line in lines)
    notes = [str(line["note"]) for line in lines if line.get("passed") is False]
    note = _cause(trusted, untrusted) or (notes[0] if notes else "")
    is_whole = any("end" in line for line in lines)
    if passed == count and not is_whole:
        passed, note = 0, note or "the tests did not come to their end"
    return Result(passed, count, note, is_no_program=note.startswith(NO_PYTHON))


def _line(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _cause(trusted: Outcome, untrusted: Outcome) -> str:
    """What the sandbox had to stop, in words; empty where it stopped nothing."""
    for outcome, who in ((untrusted, "the program"), (trusted, "the tests of it")):
        if outcome.status in STOPPED:
            return f"{who} {STOPPED[outcome.status]}"
    if untrusted.status == "killed" and untrusted.exit_code not in (-9, 0):
        return f"the program was killed by signal {-untrusted.exit_code}"
    return ""
