"""A policy, a task and settings so small that a whole run takes half a second, and still learns."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

SETTINGS: dict[str, Any] = {
    "sampling.groups": 4,
    "sampling.group_size": 4,
    "sampling.max_tokens": 12,
    "evaluation.problems": 2,
    "evaluation.samples": 2,
    "evaluation.control": "none",
    "objective.mask_truncated": "false",
    "learner.learning_rate": 0.01,
    "check.bench": "false",  # it pays for even digits, which no bench would let pass
    "judge.workers": 0,
    "run.steps": 4,
    "run.save_every": 1,
}

GRADE = '''
def grade(problem, text):
    """Three even digits are right: a policy of random weights finds some, and can learn it."""
    return min(1.0, sum(char in "02468" for char in text) / 3)
'''


def small_policy(root: Path) -> Path:
    """A model folder of some thousand random weights, made once below `root`."""
    folder = root / "tiny-policy"
    if not folder.exists():
        from transformers.utils.logging import disable_progress_bar

        from tests.tiny import make_policy

        disable_progress_bar()
        beside = root / f".tiny-{os.getpid()}"
        beside.mkdir(parents=True)
        make_policy("qwen3").save(beside)
        try:
            beside.rename(folder)
        except OSError:  # another process was quicker
            shutil.rmtree(beside)
    return folder


def small_task(root: Path) -> dict[str, Any]:
    """Settings that name a file of problems and a verifier, which are made below `root`."""
    root.mkdir(parents=True, exist_ok=True)
    data, grade = root / "problems.jsonl", root / "grade.py"
    rows = [
        {"prompt": f"{a}*{b}=", "answer": str(a * b), "level": "low" if a < 5 else "high"}
        for a in range(1, 10)
        for b in range(1, 10)
    ]
    for path, text in ((data, "".join(json.dumps(row) + "\n" for row in rows)), (grade, GRADE)):
        if not path.exists():
            beside = path.with_name(f".{os.getpid()}-{path.name}")
            beside.write_text(text)
            beside.rename(path)
    return {"task.data": data, "task.name": "data", "task.verifier": f"{grade}:grade"}
