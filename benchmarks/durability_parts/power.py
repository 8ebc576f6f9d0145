"""R4: power cuts of a real run, on the file systems that can be had here."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from benchmarks.durability_parts.rows import Row

CUTS = 60
KINDS = {"ext4": 1.0, "xfs": 0.5, "btrfs": 0.5}  # and the share of the cuts that each is given
SECONDS = 330.0


def measure(budget: float | None) -> list[Row]:
    """One row a file system; beside it how many the same cuts lose where nothing is flushed."""
    from tests.faults.scratch import scratch

    seconds = SECONDS if budget is None else budget
    shares = sum(KINDS.values())
    rows: list[Row] = []
    for kind, share in KINDS.items():
        with scratch() as root:
            until = time.monotonic() + seconds * share / shares
            rows.append(_row(Path(root), kind, int(CUTS * share), until))
    return rows


def _row(root: Path, kind: str, count: int, until: float) -> Row:
    from tests.faults.disks import why_not
    from tests.faults.power import cuts, forget_to_flush, tell_commits, world

    asked = f"{count} power cuts on {kind}: 0 lost, all go on to the same end"
    if why := why_not(kind):
        return Row("R4", asked, "not tried", skipped=why)
    seed = random.SystemRandom().randrange(10**6)
    print(f"     {kind}: cuts with seed {seed}", file=sys.stderr, flush=True)
    of, rng = world(root, kind), random.Random(seed)
    found = cuts(of, count, rng, tell_commits, until)
    resumed = found.resumed
    of.resumed.clear()
    bare = cuts(of, len(found.problems), rng, forget_to_flush, chained=False)
    tried = len(found.problems)
    words = (
        f"{len(found.lost)} of {tried} lost over {found.recordings} recorded sittings, "
        f"{found.missing} with unflushed writes missing; {resumed} different states went on; "
        f"without fsync {len(bare.lost)} of {len(bare.problems)} lost"
    )
    if found.lost:
        words += f"; the first: {found.lost[0]}"
    enough = 2 * len(bare.lost) > len(bare.problems)  # else the cuts prove nothing
    return Row("R4", asked, words, not found.lost and enough)
