"""R10: broken configurations, files and flags: one line that names the field, exit 2, no trace."""

from __future__ import annotations

import random
import sys
import time

from benchmarks.durability_parts.rows import Row
from tests.requests import broken_configs, broken_files, broken_flags, contradictions
from tests.requests.broken import Broken
from tests.requests.tried import Tally, tried, tried_in_processes

SEED = 10
WANTED = 0.99  # of the misspellings, how many get the right suggestion
PROCESSES = 24


def cases(seed: int, share: float = 1.0) -> list[Broken]:
    """The broken requests of the contract, mixed; a share of them where there is less time."""
    rng = random.Random(seed)
    found = [
        *broken_configs.keys(rng, 120),
        *broken_configs.sections(rng, 30),
        *broken_configs.foreign(rng, 40),
        *broken_configs.strayed(rng, 30),
        *broken_configs.twice(rng, 20),
        *broken_configs.types(rng, 84),
        *broken_configs.ranges(rng, 63),
        *broken_files.contents(rng, 60),
        *broken_files.cut(rng, 10),
        *broken_files.places(),
        *contradictions.table(),
        *contradictions.begun(),
        *broken_flags.misspelled_flags(rng, 80),
        *broken_flags.without_value(rng, 15),
        *broken_flags.twice(rng, 10),
        *broken_flags.values(rng, 46),
        *broken_flags.odd(),
    ]
    rng.shuffle(found)
    return found[: round(share * len(found))]


def measure(budget: float | None) -> list[Row]:
    every = cases(SEED)
    until = None if budget is None else time.monotonic() + 0.7 * budget
    here = tried(every, until, tell=True)
    count = PROCESSES if budget is None else max(2, int(budget // 10))
    apart = tried_in_processes(every, count, SEED)
    for fault in (*here.faults, *apart.faults):
        print(f"     {fault}", file=sys.stderr)
    return [_answered(here, apart), _suggested(here)]


def _answered(here: Tally, apart: Tally) -> Row:
    good = here.total - here.bad
    return Row(
        "R10",
        "500 broken configs: one line that names the field, exit 2, nothing written",
        f"{good} of {here.total} so, median {1e3 * here.median:.0f} ms of CPU, at most "
        f"{here.slowest:.1f} s; {apart.total - apart.bad} of {apart.total} of them so in processes "
        f"of their own, at most {apart.slowest:.1f} s",
        not here.bad and not apart.bad,
    )


def _suggested(here: Tally) -> Row:
    share = here.right / max(1, here.meant)
    return Row(
        "R10",
        f"the nearest spelling is what was meant: {WANTED:.0%} of slips, capitals, names of TRL",
        f"{here.right} of {here.meant} ({share:.1%})",
        share >= WANTED,
    )
