"""The sample of outside cases: one policy decides all of it. Skipped where it is not at hand."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evenodds.domain import Completion, Problem, Status, Verdict
from evenodds.verifiers.math import judge

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the sample is not at hand")
INJECTED = [
    "__import__('os').system('echo 42')",
    "[x for x in ().__class__.__bases__[0].__subclasses__()][42]",
    "open('/etc/passwd').read() or 42",
    "\\begin{pmatrix} __import__('os').getpid() & 42 \\end{pmatrix}",
]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text().splitlines()]


def judged(answer: str, gold: str, tail: str = "") -> Verdict:
    return judge(Problem("key", "?", gold, "task"), Completion(answer, prompt_tail=tail))


def test_every_form_of_the_sample_is_decided() -> None:
    table: dict[str, Counter[str]] = {}
    wrong: list[tuple[str, dict[str, Any], Verdict]] = []
    for case in rows("verifier-forms.jsonl"):
        verdict = judged(case["answer"], case["gold"])
        cell = _cell(verdict.score == 1.0, case["right"])
        table.setdefault(case["kind"], Counter())[cell] += 1
        if cell.startswith("false"):
            wrong.append((cell, case, verdict))
    for kind, counts in sorted(table.items()):
        print(f"{kind:18}", dict(counts))
    assert wrong == []


def _cell(is_paid: bool, is_right: bool) -> str:
    if is_paid == is_right:
        return "paid, right" if is_paid else "refused, wrong"
    return "false payment" if is_paid else "false refusal"


def test_no_attack_of_the_sample_is_paid_or_slow() -> None:
    for case in rows("verifier-attacks.jsonl"):
        answers = [eval(case["make"])] if "make" in case else INJECTED
        for answer in answers:
            started = time.process_time()
            verdict = judged(answer, case["gold"])
            assert time.process_time() - started < 2, case["name"]
            if case["expected"] is not None:
                assert verdict.score == float(case["expected"]), (case["name"], verdict)


def test_the_pitfalls_of_other_verifiers_are_none_of_ours() -> None:
    cases = {row["id"]: row for row in rows("pitfalls.jsonl") if row["id"].startswith("verify-")}
    for name in ("verify-near-zero", "verify-partial-gold", "verify-last-box"):
        inputs, expected = cases[name]["input"], cases[name]["expected"]
        pairs = (
            zip(inputs, expected, strict=True) if isinstance(inputs, list) else [(inputs, expected)]
        )
        for given, wanted in pairs:
            verdict = judged(given["completion"], given["gold"])
            if "correct" in wanted:
                assert (verdict.score == 1.0) is wanted["correct"], (given, verdict)
            else:
                assert verdict.status is Status.GOLD_UNREADABLE
    thinking = cases["verify-answer-after-think"]["input"]
    scores = [
        judged(given["completion"], given["gold"], given.get("prompt_ends_with", "")).score
        for given in thinking
    ]
    assert scores == [0.0, 0.0, 1.0]
    hostile = cases["verify-hostile-and-threaded"]["input"]
    scores = [judged(text, hostile["gold"]).score for text in hostile["completions"]]
    assert scores == [1.0, 0.0, 0.0, 0.0]
