"""The `code` verifier: a Python program against unit tests, in the sandbox.

Tests, expected results and the comparison are never in a process with the program.
"""

from __future__ import annotations

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.sandbox import SandboxUnavailable, available, shared_sandbox
from evenodds.verifiers.code import gold as golds
from evenodds.verifiers.code.examine import Result, examine
from evenodds.verifiers.code.policy import DEFAULT, LONGEST, Policy
from evenodds.verifiers.code.printed import run_pairs
from evenodds.verifiers.code.program import Program, find
from evenodds.verifiers.json_gold import BadGold
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.verdicts import gold_unreadable, paid, unpaid

MARGIN = 20.0
"""Seconds beyond `LONGEST` that a judge waits: a sandbox may have to start."""


def code(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Pays 1 for a program that passes all tests of the gold; by `partial`, the share it passes.

    A program that is too slow, too large or crashes is wrong. Only a failure of the sandbox itself
    is an error, and only tests that cannot be run make a gold unreadable.
    """
    reason = available()  # asked first: a judge's warm-up then makes the self-test for all workers
    if reason is not None:
        return Verdict(0.0, Status.ERROR, note=reason[:300])
    try:
        tests = golds.read(problem.answer)
    except BadGold as error:
        return gold_unreadable(str(error))
    program = find(completion, tests, policy)
    if isinstance(program, Verdict):
        return program
    try:
        sandbox = shared_sandbox()
        if isinstance(tests, golds.Pairs):
            result = run_pairs(sandbox, program.text, tests, policy)
        else:
            result = examine(sandbox, program.text, tests, problem.answer, policy)
    except SandboxUnavailable as error:
        return Verdict(0.0, Status.ERROR, note=str(error)[:300])
    return _verdict(completion, program, result, policy)


def _verdict(completion: Completion, program: Program, result: Result, policy: Policy) -> Verdict:
    if result.failed and result.is_gold:
        return gold_unreadable(result.failed)
    if result.failed:
        return Verdict(0.0, Status.ERROR, note=result.failed)
    if result.is_no_program and not program.is_fenced:
        return unpaid(completion, Status.NO_ANSWER, f"{program.how} is no Python program")
    share, text = result.passed / result.tests, program.text.strip()
    parts = {"tests": share} if policy.partial else {}
    note = f"{program.how}; {result.passed} of {result.tests} tests passed"
    note = f"{note}; {result.note}" if result.note else note
    if result.is_right:
        return paid(completion, text, note, parts=parts)
    return unpaid(completion, Status.WRONG, note, text, share if policy.partial else 0.0, parts)


KIND = Kind(
    name="code",
    summary="a Python program against unit tests, run in the sandbox",
    gold="JSON: inputs and outputs (with fn_name for calls), or test and entry_point (HumanEval), "
    "or test_list (MBPP)",
    judge=code,
    policy=DEFAULT,
    gold_is="table",
    runs="worker",
    limits={"characters_of_a_gold": golds.LONGEST, "seconds": LONGEST},
    seconds=LONGEST + MARGIN,
    unavailable=lambda policy: available(),  # whatever the policy
)
