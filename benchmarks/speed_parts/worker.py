"""A contender in a process of its own: it loads once, then takes a turn for each line it reads.

python -m benchmarks.speed_parts.worker WORK PROFILE CONTENDER. Each line on stdin is the number of
a turn; each line on stdout a JSON object. It sleeps between turns, so only one contender works.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from evenodds.machine import prepare_environment

prepare_environment()  # for all: what torch reads when it is first imported


def _stream() -> Callable[[dict[str, Any]], None]:
    """Where answers go. Whatever else the process prints goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(found: dict[str, Any]) -> None:
        from benchmarks.speed_parts.clock import peak_gb

        print(json.dumps({**found, "peak_gb": peak_gb()}), file=out, flush=True)

    return tell


def _wait() -> int | None:
    line = sys.stdin.readline()
    return int(line) if line.strip() else None


def main() -> None:
    from benchmarks.speed_parts.work import WORKS

    tell = _stream()
    work, profile, name = WORKS[sys.argv[1]], sys.argv[2], sys.argv[3]
    kind, _, rest = name.partition("-")
    if kind == "trl":
        from benchmarks.speed_parts.with_trl import WithTrl

        trainer = WithTrl(work, profile, rest)
        tell({"ready": True})
        trainer.run(_wait, tell)
        return
    contender = _turns(kind, rest, work, profile)
    tell({"ready": True})
    while (number := _wait()) is not None:
        tell(contender.turn(number))


def _turns(kind: str, rest: str, work: Any, profile: str) -> Any:
    if kind == "hf":
        from benchmarks.speed_parts.generate import Generate

        return Generate(work, profile, rest)
    from benchmarks.speed_parts.ours import Engine, Ours

    return Engine(work, profile) if rest == "base" else Ours(work, profile)


if __name__ == "__main__":
    main()
