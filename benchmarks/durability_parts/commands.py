"""R10 for all other commands: wrong arguments, hostile files of data, damaged run folders."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.durability_parts.rows import Row
from tests.requests import hostile_calls, hostile_inputs
from tests.requests.asked import ask
from tests.requests.broken import Broken
from tests.requests.tried import Tally, tried

SEED = 11
CALLS, DAMAGED = 1000, 120
SMALL = (
    "train --name r --steps 3 --run.save_every 1 --sampling.groups 3 --sampling.group_size 3 "
    "--sampling.max_tokens 24 --evaluation.problems 1 --evaluation.samples 1 --evaluation.every 1 "
    "--evaluation.control none"
)


def calls(seed: int, count: int) -> list[Broken]:
    rng = random.Random(seed)
    every = [
        *hostile_calls.flags(rng, 120),
        *hostile_calls.values(),
        *hostile_calls.shapes(),
        *hostile_calls.names(),
        *hostile_inputs.data(),
    ]
    rng.shuffle(every)
    return every[:count]


def measure(budget: float | None) -> list[Row]:
    begun = time.monotonic()
    until = None if budget is None else begun + 0.6 * budget
    asked = tried(calls(SEED, CALLS), until, tell=True)
    with tempfile.TemporaryDirectory() as place:
        made = ask(SMALL.split(), Path(place), works=True, seconds=120)
        if made.code != 0:
            raise SystemExit(f"the run that is to be damaged did not end well: {made.err[-500:]}")
        until = None if budget is None else begun + budget
        cases = hostile_inputs.runs(Path(place) / "runs" / "r", random.Random(SEED), DAMAGED)
        damaged = tried(cases, until, tell=True)
    for fault in (*asked.faults, *damaged.faults):
        print(f"     {fault}", file=sys.stderr)
    return [_row("1,000 hostile calls of the other commands", asked), _row("damaged runs", damaged)]


def _row(what: str, found: Tally) -> Row:
    return Row(
        "R10",
        f"{what}: done, or refused in one line; no traceback, no hang, no error nobody foresaw",
        f"{found.total - found.bad} of {found.total} so, median {1e3 * found.median:.0f} ms, at "
        f"most {found.slowest:.1f} s of CPU",
        not found.bad,
    )
