"""R5: a disk that refuses, at every call that changes it, and as it really happens."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.durability_parts.many import tried
from benchmarks.durability_parts.rows import Row

if TYPE_CHECKING:
    from tests.faults.refusals import Tried
    from tests.faults.setting import Setting

SHARES = {"limits": 0.1, "calls": 0.1, "first": 0.4, "later": 0.4}  # of a budget
LIMITS, CALLS = 15, 10  # cases of each kind of limit, and of each system call
ASKED = (
    "one line with path and need, last good kept, exit 1 or 2, "
    "goes on to the same end when the disk is well"
)


def measure(budget: float | None) -> list[Row]:
    """Real limits, errors of system calls, and every call of first and later sittings."""
    from tests.faults.scratch import scratch
    from tests.faults.sittings import FIRST, LATER, first_of, later_of

    seed = random.SystemRandom().randrange(10**6)
    print(f"     errors: limits and calls of seed {seed}", file=sys.stderr, flush=True)
    rng = random.Random(seed)
    seconds = {name: budget and budget * share for name, share in SHARES.items()}
    with scratch() as root:
        first = first_of(Path(root))
        rows = [_limits(first, rng, seconds["limits"]), _calls(first, rng, seconds["calls"])]
        rows.append(_failpoints("a first sitting: ", {FIRST: first}, seconds["first"]))
        others = {kind: later_of(kind, first) for kind in LATER}
        rows.append(_failpoints("later sittings: ", others, seconds["later"]))
    return rows


def _failpoints(name: str, settings: Mapping[str, Setting], budget: float | None) -> Row:
    """Every call with every error; one of two fails for good."""
    from tests.faults.failpoints import ERRORS
    from tests.faults.refusals import refused
    from tests.faults.sittings import cut

    every = [
        (kind, at, error, bool((at + place) % 2))
        for kind, setting in settings.items()
        for at in range(1, len(setting.calls) + 1)
        for place, error in enumerate(ERRORS)
    ]
    found = _all(name, every, lambda case: refused(settings[case[0]], *case[1:]), budget)
    made = [call for setting in settings.values() for call in setting.calls]
    states = sum(len(setting.resumed) for setting in settings.values())
    words = (
        f"{len(found)} of the {len(every)} pairs of {len(made)} calls ({len(set(map(cut, made)))} "
    )
    words += f"names and places) and {len(ERRORS)} errors tried in {len(settings)} kinds of "
    words += f"sittings; {states} different folders went on"
    return _row(f"at every durable call of {name}", words, found)


def _limits(base: Setting, rng: random.Random, budget: float | None) -> Row:
    """A disk that is filled, a limit, a folder that is deleted: before some call of a run."""
    from tests.faults.disks import why_no_memory_disk
    from tests.faults.real_limits import REASONS, met

    kinds = [deed for deed in REASONS if deed != "full" or not why_no_memory_disk()]
    every = {(rng.randrange(1, len(base.calls) + 1), kind) for kind in kinds * LIMITS}
    found = _all("limits", sorted(every), lambda case: met(base, *case), budget)
    words = f"{len(found)} tried before random calls ({', '.join(kinds)})"
    if why := why_no_memory_disk():
        words += f"; no full disk: {why}"
    return _row("real limits: ", words, found)


def _calls(base: Setting, rng: random.Random, budget: float | None) -> Row:
    """Errors that strace puts into system calls: those of native writers too."""
    from tests.faults import traced

    asked = "errors of system calls: " + ASKED
    if why := traced.why_no_trace():
        return Row("R5", asked, "not tried", skipped=why)
    counts = {call: traced.counted(base, call) for call in traced.CALLS}
    every = {
        (call, rng.choice(("EIO", "ENOSPC")), rng.randrange(1, count + 1))
        for call, count in counts.items()
        for _ in range(CALLS if count else 0)
    }
    found = _all("system calls", sorted(every), lambda case: traced.broken(base, *case), budget)
    hit = [one for one in found if one.call != traced.NOT_HIT]
    return _row("errors of system calls: ", f"{len(hit)} calls broken by strace", found)


def _all(
    title: str, cases: Sequence[Any], attempt: Callable[[Any], Tried], budget: float | None
) -> list[Tried]:
    """What was found of each case; one that broke off, such as a child that hangs, is a finding."""
    return list(_found(tried(title, cases, attempt, budget)))


def _found(each: Iterator[tuple[Any, Tried | Exception]]) -> Iterator[Tried]:
    from tests.faults.refusals import Tried

    for case, found in each:
        if isinstance(found, Exception):
            problem = f"it broke off: {type(found).__name__}: {found}"
            found = Tried(str(case), "", -1, "", problem)
        if found.problem:
            print(f"     {case}: {found}", file=sys.stderr, flush=True)
        yield found


def _row(kind: str, words: str, found: Sequence[Tried]) -> Row:
    bad = [one for one in found if one.problem]
    codes = Counter(one.code for one in found)
    ends = ", ".join(f"{count} exit {code}" for code, count in sorted(codes.items()))
    words += f": {len(bad)} not as asked ({ends})"
    if bad:
        words += f"; the first: {bad[0].error} at {bad[0].call[:120]}: {bad[0].problem[:200]}"
    return Row("R5", kind + ASKED, words, not bad and len(found) > 0)
