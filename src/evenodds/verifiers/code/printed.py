"""Runs programs that read standard input and print, and compares what they printed."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from evenodds.sandbox import Outcome, Sandbox
from evenodds.verifiers.code.examine import NO_PYTHON, STOPPED, Result, limits_of
from evenodds.verifiers.code.gold import Pairs
from evenodds.verifiers.code.policy import Policy, spread


def run_pairs(sandbox: Sandbox, program: str, tests: Pairs, policy: Policy) -> Result:
    """Run a program once for each input. Expected outputs never leave this process."""
    pairs = spread(tests.pairs, policy.max_tests)
    passed, note, is_no_program = 0, "", False
    deadline = time.monotonic() + policy.total_seconds
    for given, expected in pairs:
        left = deadline - time.monotonic()
        if left <= 0:
            note = note or "the tests ran out of time (total_seconds)"
            break
        limits = limits_of(policy, left)
        limits = replace(limits, output=max(limits.output, 8 * len(expected)))
        outcome = sandbox.run(program, stdin=_encoded(given), limits=limits)
        if outcome.status == "error":
            return Result(0, len(pairs), failed=outcome.last_words[:200])
        why = failure(outcome, expected, policy.tolerance)
        if why:
            note = note or why
            is_no_program = is_no_program or outcome.last_words.startswith(NO_PYTHON)
            if not policy.partial or is_no_program or outcome.status == "timeout":
                break  # functions are not asked again after a time-out either
        passed += not why
    return Result(passed, len(pairs), note, is_no_program=is_no_program)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def failure(outcome: Outcome, expected: str, tolerance: float) -> str:
    """Why a test is not passed; empty where it is."""
    if outcome.status != "done":
        how = STOPPED.get(outcome.status, outcome.status)
        return f"the program {how} {outcome.last_words}".strip()[:200]
    printed = outcome.stdout.decode("utf-8", "replace")
    return "" if matches(printed, expected, tolerance) else "another output than expected"


def matches(printed: str, expected: str, tolerance: float) -> bool:
    """Equal line by line, with white space at the ends and its amount between words aside."""
    mine, theirs = (_lines(text) for text in (printed, expected))
    return len(mine) == len(theirs) and all(
        len(a) == len(b) and all(_same(x, y, tolerance) for x, y in zip(a, b, strict=True))
        for a, b in zip(mine, theirs, strict=True)
    )


def _lines(text: str) -> list[list[str]]:
    lines = [line.split() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same(word: str, right: str, tolerance: float) -> bool:
    """Equal words, or numbers within the tolerance where the expected one is no whole number."""
    if word == right:
        return True
    if not {".", "e"} & {*right} or len(word) > 400 or len(right) > 400:
        return False
    if not word.isascii() or "_" in word:  # Python reads more as a number than is meant
        return False
    try:
        mine, theirs = float(word), float(right)
    except ValueError:
        return False
    if not math.isfinite(mine) or not math.isfinite(theirs):
        return False
    return abs(mine - theirs) <= tolerance * max(1.0, abs(theirs))
