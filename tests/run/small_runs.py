"""Runs of a few seconds, and how two of them are compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.torch import load_file

from evenodds.run.config import make_config, merge
from evenodds.run.train import train

SMALL = {
    "sampling.groups": 6,
    "sampling.group_size": 4,
    "sampling.max_tokens": 24,
    "task.held_out": 4,
    "evaluation.problems": 2,
    "evaluation.samples": 2,
    "evaluation.levels": (0, 1),
    "evaluation.control": "none",  # it has tests of its own, and would be most of the time here
    "check.bench": False,  # likewise: a fifth of a run this small
    "run.steps": 4,
    "run.save_every": 2,
    "objective.mask_truncated": False,
}


class Quiet:
    """A view that remembers its notes."""

    def __init__(self, on_step=None) -> None:
        self.notes: list[str] = []
        self.on_step = on_step

    def start(self, title, lines, levels=()) -> None: ...
    def phase(self, name, done, total) -> None: ...
    def step(self, step, *rest) -> None:
        if self.on_step:
            self.on_step(step)

    def note(self, text) -> None:
        self.notes.append(text)

    def table(self, comparison, sentence="") -> None: ...
    def close(self) -> None: ...


def config_in(root: Path, **over):
    return make_config(merge({}, SMALL | {"run.root": str(root), "run.name": "r"} | over))


def run(root: Path, view=None, **over):
    changed = {key.replace("__", "."): value for key, value in over.items()}
    return train(config_in(root, **changed), view=view or Quiet())


def lines(folder: Path) -> list[dict]:
    """metrics.jsonl without its clock fields."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]


def weights(folder: Path) -> dict[str, np.ndarray]:
    found = load_file(next(folder.glob("model/*.safetensors")))
    return {name: value.float().numpy() for name, value in found.items()}


def assert_equal_runs(one: Path, two: Path) -> None:
    assert lines(one) == lines(two)
    assert (one / "groups.jsonl").read_bytes() == (two / "groups.jsonl").read_bytes()
    first, second = weights(one), weights(two)
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert np.array_equal(value, second[name]), name
