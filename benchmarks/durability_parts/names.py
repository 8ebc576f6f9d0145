"""S8: hostile names of runs, roots, folders and files: nothing is written outside of the root."""

from __future__ import annotations

import random
import sys
import time

from benchmarks.durability_parts.rows import Row
from tests.requests import hostile_names
from tests.requests.broken import Broken
from tests.requests.tried import tried

SEED = 8


def cases() -> list[Broken]:
    found = [
        *hostile_names.run_names(),
        *hostile_names.roots(),
        *hostile_names.links(),
        *hostile_names.outs(),
        *hostile_names.made_names(),
    ]
    random.Random(SEED).shuffle(found)
    return found


def measure(budget: float | None) -> list[Row]:
    every = cases()
    until = None if budget is None else time.monotonic() + budget
    found = tried(every, until, tell=True)
    for fault in found.faults:
        print(f"     {fault}", file=sys.stderr)
    return [
        Row(
            "S8",
            "200 hostile names (run, root, resume, out, data, model): nothing outside the root",
            f"{found.total - found.bad} of {found.total} refused in one line with nothing written, "
            "or written below the root",
            not found.bad,
        )
    ]
