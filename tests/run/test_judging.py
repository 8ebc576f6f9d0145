"""Runs with a verifier of one's own: it may hang or crash, and the run goes on and says so."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

import evenodds
from tests.run.small_runs import SMALL, Quiet, lines, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="judges closures inline there")

FAST = {
    "run.steps": 1,
    "evaluation.levels": [0],
    "evaluation.samples": 1,
    "sampling.groups": 3,
    "judge.seconds": 0.2,
    "judge.workers": 2,
    "check.bench": False,
}

HOSTILE = """
import os

def grade(problem, text):
    seen = 0 if text.strip().isdigit() else sum(map(ord, text)) % 8  # golds are digits only
    if seen in (1, 3):
        os._exit(3)
    while seen == 2:
        pass
    return len(text) % 2
"""


def test_a_run_goes_on_though_some_answers_hang_or_crash(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HOSTILE)
    view = Quiet()
    more = {"task.verifier": f"{tmp_path / 'mine.py'}:grade", "curriculum.start": 0.0}
    result = run(tmp_path, view, **FAST, **more)
    rows = lines(result.folder)
    missed = [row["status/timeout"] + row["status/error"] for row in rows]
    assert len(rows) == 1 and 0 < sum(missed) < 1
    told = [note for note in view.notes if "are left out" in note]
    assert len(told) == 1
    assert "exit code 3" in told[0] or "no verdict within 0.2 s" in told[0]


def test_a_function_handed_over_from_python_may_hang(tmp_path: Path) -> None:
    def grade(problem: object, text: str) -> bool:
        while "7" in text[1:] and text != problem.answer:  # type: ignore[attr-defined]
            pass
        return len(text) % 2 == 0

    problems = [(f"{a}*{b}=", str(a * b)) for a in range(2, 10) for b in range(2, 10)]
    settings = SMALL | FAST | {"run.root": str(tmp_path), "run.name": "r"}
    started = time.monotonic()
    result = evenodds.train(problems, grade, settings, view=Quiet())
    assert time.monotonic() - started < 40
    assert lines(result.folder)[0]["status/timeout"] < 1


def test_a_trl_function_in_a_file_teaches_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "async def even(prompts, completions, completion_ids, answer, **columns):\n"
        "    assert len({*prompts}) == 1 and len(completion_ids) == len(completions)\n"
        "    return [float(len(text) % 2 == 0) for text in completions]\n"
    )
    result = run(tmp_path, **FAST, **{"task.verifier": f"{tmp_path / 'mine.py'}:even"})
    assert {row["status/error"] for row in lines(result.folder)} == {0.0}
