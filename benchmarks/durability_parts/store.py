"""R9: 10,000 random stories of a store of checkpoints, beside a model of what must be in it."""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.durability_parts.rows import Row
from tests.faults import store_model
from tests.faults.scratch import scratch

STORIES, PIECE = 10_000, 250

Told = tuple[Counter[str], int, int, list[int]]


def measure(budget: float | None) -> list[Row]:
    first = random.SystemRandom().randrange(10**9)
    print(f"     seeds from {first}", file=sys.stderr)
    done, lost, deleted, bad, count = Counter[str](), 0, 0, list[int](), 0
    with scratch() as root:
        for acts, gone, foreign, seeds in pieces(root, first, budget):
            done, lost, deleted, count = done + acts, lost + gone, deleted + foreign, count + PIECE
            bad += seeds
    crashes = done.pop("crashes", 0)
    acts = ", ".join(f"{number} {name}" for name, number in sorted(done.items()))
    amiss = f", seeds {bad[:5]}" if bad else ""
    found = (
        f"{count} stories, {sum(done.values())} operations ({acts}; {crashes} crashes in them): "
        f"{lost} times none sound, {deleted} foreign files gone{amiss}"
    )
    asked = f"{STORIES} random stories: never none sound once one was, 0 foreign paths deleted"
    return [Row("R9", asked, found, not lost and not deleted and not bad)]


def pieces(root: Path, first: int, budget: float | None) -> Iterator[Told]:
    """In two processes, as far as the budget goes; at least one piece."""
    until = time.monotonic() + (budget or 1e9)
    seeds = range(first, first + STORIES, PIECE)
    with ProcessPoolExecutor(2) as pool:
        for number in range(0, len(seeds), 2):
            if number and time.monotonic() > until:
                return
            yield from pool.map(partial(piece, root), seeds[number : number + 2])
            if number % 8 == 6:
                print(
                    f"     store: {(number + 2) * PIECE} of {STORIES}", file=sys.stderr, flush=True
                )


def piece(root: Path, first: int) -> Told:
    """Stories one after the other; what they ask is what lies where, so nothing is flushed."""
    os.fsync = lambda descriptor: None
    done, lost, deleted, bad = Counter[str](), 0, 0, list[int]()
    for seed in range(first, first + PIECE):
        place = root / str(seed)
        place.mkdir()
        try:
            told = store_model.tell(place, seed)
        except AssertionError:
            bad.append(seed)
            continue
        done += told.done
        lost, deleted = lost + told.lost, deleted + told.deleted
        bad += [seed] if told.lost or told.deleted else []
        shutil.rmtree(place)
    return done, lost, deleted, bad
