"""R5: a disk that refuses, at every call that changes it, and as it really happens."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.durability_parts.rows import Row

if TYPE_CHECKING:
    from tests.faults.refusals import Tried

SECONDS = 400.0
SHARES = {"failpoints": 0.7, "limits": 0.15, "calls": 0.15}  # of the time, each at most
LIMITS, CALLS = 15, 10  # cases of each kind of limit, and of each system call
ASKED = (
    "one line with path and need, last good kept, exit 1 or 2, "
    "goes on to the same end when the disk is well"
)


def measure(budget: float | None) -> list[Row]:
    """Three rows: errors at counted calls, real limits, errors of system calls."""
    from tests.faults.refusals import undisturbed
    from tests.faults.scratch import scratch

    seconds = SECONDS if budget is None else budget
    seed = random.SystemRandom().randrange(10**6)
    print(f"     errors: drawn with seed {seed}", file=sys.stderr, flush=True)
    rng = random.Random(seed)
    with scratch() as root:
        base = undisturbed(Path(root))
        until = time.monotonic()
        rows: list[Row] = []
        for name, make in (("limits", _limits), ("calls", _calls), ("failpoints", _failpoints)):
            until += seconds * SHARES[name]
            rows.append(make(base, rng, until))
            print(f"     {name}: {rows[-1].found[:100]}", file=sys.stderr, flush=True)
    return rows


def _failpoints(base: Any, rng: random.Random, until: float) -> Row:
    """Every call with every error, in random order; one of two fails for good."""
    from tests.faults.failpoints import ERRORS
    from tests.faults.refusals import refused

    every = [
        (at, error, bool((at + place) % 2))
        for at in range(1, len(base.calls) + 1)
        for place, error in enumerate(ERRORS)
    ]
    rng.shuffle(every)
    found = list(_tried(every, lambda case: refused(base, *case), until))
    words = f"{len(found)} of the {len(every)} pairs of {len(base.calls)} calls and "
    words += f"{len(ERRORS)} errors tried; {len(base.resumed)} different folders went on"
    return _row("at every durable call: ", words, found)


def _limits(base: Any, rng: random.Random, until: float) -> Row:
    """A disk that is filled, a limit, a folder that is deleted: before some call of a run."""
    from tests.faults.disks import why_no_memory_disk
    from tests.faults.real_limits import REASONS, met

    kinds = [deed for deed in REASONS if deed != "full" or not why_no_memory_disk()]
    every = [(rng.randrange(1, len(base.calls) + 1), kind) for kind in kinds * LIMITS]
    rng.shuffle(every)
    found = list(_tried(every, lambda case: met(base, *case), until))
    words = f"{len(found)} tried before random calls ({', '.join(kinds)})"
    if why := why_no_memory_disk():
        words += f"; no full disk: {why}"
    return _row("real limits: ", words, found)


def _calls(base: Any, rng: random.Random, until: float) -> Row:
    """Errors that strace puts into system calls: those of native writers too."""
    from tests.faults import traced

    asked = "errors of system calls: " + ASKED
    if why := traced.why_no_trace():
        return Row("R5", asked, "not tried", skipped=why)
    counts = {call: traced.counted(base, call) for call in traced.CALLS}
    every = [
        (call, rng.choice(("EIO", "ENOSPC")), rng.randrange(1, count + 1))
        for call, count in counts.items()
        for _ in range(CALLS if count else 0)
    ]
    rng.shuffle(every)
    found = list(_tried(every, lambda case: traced.broken(base, *case), until))
    hit = [one for one in found if one.call != traced.NOT_HIT]
    return _row("errors of system calls: ", f"{len(hit)} calls broken by strace", found)


def _tried(cases: Sequence[Any], attempt: Callable[[Any], Tried], until: float) -> Iterator[Tried]:
    """Two at a time, until the time is over."""

    def one(case: Any) -> Tried | None:
        return attempt(case) if time.monotonic() < until else None

    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(one, cases):
            if found is not None:
                yield found


def _row(kind: str, words: str, found: Sequence[Tried]) -> Row:
    if not found:
        return Row("R5", kind + ASKED, "not tried", skipped="no time was left for it")
    bad = [one for one in found if one.problem]
    codes = {code: sum(one.code == code for one in found) for code in {one.code for one in found}}
    ends = ", ".join(f"{count} exit {code}" for code, count in sorted(codes.items()))
    words += f": {len(bad)} not as asked ({ends})"
    for one in bad[:5]:
        print(f"     {one}", file=sys.stderr, flush=True)
    if bad:
        words += f"; the first: {bad[0].error} at {bad[0].call[:120]}: {bad[0].problem[:200]}"
    return Row("R5", kind + ASKED, words, not bad)
