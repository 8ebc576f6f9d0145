"""Which rollout of a run is meant: its step, its group in the step, its answer in the group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenodds.errors import UsageError
from evenodds.records import read_table, rollout_files

PATTERN = re.compile(r"(?:step-?)?0*(\d{1,9})/0*(\d{1,9})/0*(\d{1,9})")


class Name(NamedTuple):
    """A rollout: step counted from 1; group and answer from 0, as in the file of the step."""

    step: int
    group: int
    answer: int

    def __str__(self) -> str:
        return f"{self.step}/{self.group}/{self.answer}"


def name_of(text: str) -> Name:
    """`STEP/GROUP/ANSWER`, such as 31/4/0. Raises `UsageError` for anything else."""
    found = PATTERN.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"a rollout is named STEP/GROUP/ANSWER. Got {text[:40]!r}. Write 31/4/0 for the first "
            "answer of the fifth group of step 31."
        )
    return Name(*map(int, found.groups()))


def names_in(path: Path, step: int) -> list[Name]:
    """All rollouts of the step that a file holds."""
    table = read_table(path, ("group", "answer"))
    pairs = zip(table.values("group"), table.values("answer"), strict=True)
    return [Name(step, group, answer) for group, answer in pairs]


def of_step(run: Path, step: int) -> list[Name]:
    """All rollouts of a step. Raises `UsageError` where the run has no such step."""
    require_steps(run, [step])
    return names_in(rollout_files(run)[step], step)


def require_steps(run: Path, steps: Sequence[int]) -> None:
    """Raise `UsageError` of the first of these steps that the run has no rollouts of."""
    files = rollout_files(run)
    missing = [step for step in steps if step not in files]
    if missing:
        raise UsageError(
            f"the run has no rollouts of step {missing[0]}. Got {_range(list(files))}. "
            "Choose one of those."
        )


def require_there(run: Path, names: Sequence[Name]) -> None:
    """Raise `UsageError` of the first of these rollouts that the run does not have."""
    require_steps(run, [name.step for name in names])
    files = rollout_files(run)
    for step, asked in groupby(names, key=lambda name: name.step):
        there = names_in(files[step], step)
        for name in asked:
            _require_among(there, name)


def _require_among(there: Sequence[Name], name: Name) -> None:
    if name in there:
        return
    groups = max(one.group for one in there)
    if name.group > groups:
        raise UsageError(f"step {name.step} has groups 0 to {groups}. Got {name}. Choose another.")
    answers = max(one.answer for one in there if one.group == name.group)
    raise UsageError(
        f"group {name.group} of step {name.step} has answers 0 to {answers}. Got {name}. "
        "Choose another."
    )


def drawn(run: Path, count: int, seed: int) -> list[Name]:
    """So many rollouts of the run, drawn without replacement; in the order of their steps."""
    files = rollout_files(run)
    if not files:
        raise UsageError(f"the run has no rollouts yet. Got {str(run)!r}. Let it take a step.")
    everything = [name for step, path in files.items() for name in names_in(path, step)]
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(everything), min(count, len(everything)), replace=False)
    return sorted(everything[int(at)] for at in chosen)


def _range(steps: Sequence[int]) -> str:
    return f"steps {steps[0]} to {steps[-1]}" if steps else "none at all"
