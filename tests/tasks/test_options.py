"""Making a task: names and options are checked, in one line."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from evenodds.errors import UsageError
from evenodds.tasks import TaskOptions, make_task


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("multiplicaton", {}, "Did you mean 'multiplication'?"),
        ("addition", {"styl": "bare"}, "Did you mean 'style'?"),
        ("addition", {"style": "fewshot"}, "Did you mean 'few_shot'?"),
        ("addition", {"shots": 99}, "shots is out of range"),
        ("addition", {"held_out": 0}, "held_out is out of range"),
        ("addition", {"held_out": 10_000_000}, "Use 1 to 10000"),
        ("addition", {"held_out_share": 1.0}, "held_out_share is out of range"),
        ("data", {}, "needs a file"),
    ],
)
def test_errors_are_one_line(name: str, changes: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_task(name, **changes)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_changes_go_over_options() -> None:
    task = make_task("addition", TaskOptions(style="chat", held_out=5), style="few_shot")
    assert len(task.held_out(3)) == 5
    prompt = task.generate(0, np.random.default_rng(0)).prompt
    assert isinstance(prompt, str)
    assert prompt.count("\n") == 4


def test_neither_tasks_nor_verifiers_import_torch() -> None:
    code = "import sys, evenodds.tasks, evenodds.judge; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
