"""R6: 1,000 corruptions of the files of finished and of killed runs, each told of or undone.

All are asked as a resume asks, in this process; sixty are tried as the command, to its end.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter

from benchmarks.durability_parts.many import tried
from benchmarks.durability_parts.rows import Row
from tests.faults import damage
from tests.faults.scratch import scratch

COUNT, COMMANDS = 1000, 60


def measure(budget: float | None) -> list[Row]:
    seed = random.SystemRandom().randrange(10**6)
    print(f"     seed {seed}", file=sys.stderr)
    with scratch() as root:
        place = damage.ground(root)
        return [
            looked_at(place, seed, budget and budget / 3),
            commands(place, seed, budget and budget / 3),
        ]


def looked_at(place: damage.Ground, seed: int, budget: float | None) -> Row:
    counts, bad, until = Counter[str](), list[str](), time.monotonic() + (budget or 1e9)
    for done, what in damage.tried(place, COUNT, seed):
        known = what if what in ("told", "undone") else "not noticed"
        counts[f"{done.kind} {known}"] += 1
        bad += damage.amiss([(done, what)])
        if time.monotonic() > until:
            break
    for line in bad:
        print(f"     {line}", file=sys.stderr)
    every, undone = sum(counts.values()), sum(n for w, n in counts.items() if w.endswith("undone"))
    told = ", ".join(f"{n} {w}" for w, n in sorted(counts.items()))
    found = f"{every - len(bad)} of {every} ({undone} undone by steps taken again): {told}"
    asked = f"{COUNT} of {COUNT} corruptions of a run's files detected"
    return Row("R6", asked, found, not bad and every > 0)


def commands(place: damage.Ground, seed: int, budget: float | None) -> Row:
    """The numbers are others than those of the first row, so the damage is too."""
    numbers = [*range(10 * COUNT, 10 * COUNT + COMMANDS)]
    counts, bad = Counter[str](), list[str]()
    for _, found in tried(
        "damage", numbers, lambda n: damage.try_as_command(place, n, seed), budget
    ):
        if found is None:
            continue
        what = str(found) if isinstance(found, Exception) else found[1]
        counts[what if what in ("told", "undone") else "amiss"] += 1
        if what not in ("told", "undone"):
            bad.append(f"{found}")
            print(f"     {found}", file=sys.stderr, flush=True)
    told = ", ".join(f"{n} {w}" for w, n in sorted(counts.items()))
    asked = "the command says so, or goes on to the end of the run that nobody disturbed"
    return Row("R6", asked, f"{sum(counts.values())} commands: {told}", not bad and bool(counts))
