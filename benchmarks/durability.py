"""Every figure of the contract of durability, tried and printed: python -m benchmarks.durability.

Kills, signals, power cuts, refusing disks, damage, hostile configurations, numbers that are not
finite. The whole takes some half an hour on two cores; `--budget 20` gives each part so many
seconds and tries a random share, `--only R3 R7` tries some. Exit 3 if a figure does not hold.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from benchmarks.common import writable
from benchmarks.durability_parts.rows import Row, text

Measure = Callable[[float | None], list[Row]]

PARTS: dict[str, tuple[str, ...]] = {  # file in durability_parts -> the figures that it prints
    "resume": ("R1", "R2"),
    "kills": ("R3",),
    "signals": ("R7",),
    "lock": ("R8",),
    "damage": ("R6",),
    "store": ("R9",),
    "cost": ("R14",),
    "soak": ("soak",),
    "configs": ("R10",),
    "commands": ("R10",),
    "names": ("S8",),
    "power": ("R4",),
    "errors": ("R5",),
    "security": ("S4", "S6", "S7", "S9", "S10"),
    "numbers": ("N1", "N2", "N3", "N4", "N5"),
}


def measure_of(part: str) -> Measure:
    """A part is imported when it is asked for, so that one of them costs nothing to another."""
    return cast(Measure, import_module(f"benchmarks.durability_parts.{part}").measure)


def chosen(only: Sequence[str]) -> list[str]:
    known = {name for ids in PARTS.values() for name in ids} | set(PARTS)
    unknown = sorted(set(only) - known)
    if unknown:
        raise SystemExit(f"no figure {unknown[0]!r}. Choose some of: {', '.join(sorted(known))}.")
    return [part for part, ids in PARTS.items() if not only or {part, *ids} & set(only)]


def tried(part: str, budget: float | None) -> list[Row]:
    """The rows of a part. One that breaks off is a miss, and the others are still tried."""
    try:
        return measure_of(part)(budget)
    except Exception as error:
        found = f"it broke off: {type(error).__name__}: {error}"
        return [Row(name, f"part {part} to its end", found, holds=False) for name in PARTS[part]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", default=[], help="figures, such as R3 N1, or parts")
    parser.add_argument("--budget", type=float, help="seconds for each part; default: all of it")
    parser.add_argument("--json", type=writable, help="write the rows there as well")
    found = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's `&` has it ignored
    rows: list[Row] = []
    if find_spec("pytest") is None:
        raise SystemExit("what the tests use is missing. Install it: pip install -e '.[dev]'.")
    for part in chosen(found.only):
        started = time.monotonic()
        made = tried(part, found.budget)
        rows += made
        for row in made:
            print(text(row), flush=True)
        print(f"     {part}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    missed = [row.id for row in rows if row.verdict == "MISSED"]
    skipped = [row.id for row in rows if row.skipped]
    print(f"{len(rows)} figures: {len(missed)} missed {missed}, {len(skipped)} skipped {skipped}")
    if found.json:
        found.json.write_text(json.dumps([row.to_dict() for row in rows], indent=1))
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
