"""evenodds replay RUN ROLLOUT ..."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evenodds.cli.flags import Parser
from evenodds.errors import GateError, UsageError
from evenodds.run.folder import require_run

if TYPE_CHECKING:
    from evenodds.replay import Name, Replayed

EPILOG = """a rollout is STEP/GROUP/ANSWER: 31/4/0 is the first answer to the fifth of step 31.

examples:
  evenodds replay runs/NAME 31/4/0            what was drawn, judged and learned, made again
  evenodds replay runs/NAME --random 100      are 100 rollouts of the run what it says they are?
  evenodds replay runs/NAME --random 100 --from-start     without its checkpoints

exit codes: 0 all equal, in every bit or up to rounding; 3 some differ
"""
FULL = 3  # rollouts that are shown in full; more have a line each


def main(arguments: list[str]) -> int:
    usage = "RUN ROLLOUT ... | --random N | --all-of-step STEP [--json]"
    about = (
        "Make rollouts of a run again from its records: the weights, the tokens, the verdict with "
        "a trace, and their part of the loss."
    )
    parser = Parser("replay", usage, about, EPILOG)
    parser.add_argument("run", help="a run folder, or the name of a run below runs")
    parser.add_argument("rollouts", nargs="*", metavar="ROLLOUT", help="STEP/GROUP/ANSWER")
    parser.add_argument("--random", type=int, metavar="N", help="so many, drawn from all steps")
    parser.add_argument("--seed", type=int, default=0, help="of that draw (default: 0)")
    parser.add_argument("--all-of-step", type=int, metavar="STEP", help="all rollouts of a step")
    parser.add_argument("--from-start", action="store_true", help="use no checkpoint")
    parser.add_argument("--trace", action="store_true", help="every call inside the verifier")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    found = parser.parse(arguments)
    run = require_run(found.run)
    names = _names(run, found)
    all_found = list(_shown(run, names, found))
    return _ended(all_found)


def _names(run: Path, found: argparse.Namespace) -> list[Name]:
    """The rollouts that are asked for, by exactly one of three ways."""
    from evenodds.replay.names import drawn, name_of, of_step

    ways = [bool(found.rollouts), found.random is not None, found.all_of_step is not None]
    if sum(ways) != 1:
        raise UsageError(
            "say which rollouts. Give STEP/GROUP/ANSWER, --random N, or --all-of-step STEP, "
            "and only one of these."
        )
    if found.random is not None:
        if found.random < 1 or found.seed < 0:
            raise UsageError(f"--random takes 1 or more, --seed 0 or more. Got {found.random}.")
        return drawn(run, found.random, found.seed)
    if found.all_of_step is not None:
        return of_step(run, found.all_of_step)
    return [name_of(text) for text in found.rollouts]


def _shown(run: Path, names: list[Name], asked: argparse.Namespace) -> Iterator[Replayed]:
    """Replay, and print each rollout as it comes, or all as JSON at the end."""
    from evenodds.replay import replay
    from evenodds.replay.told import as_dict, conditions, lines_of, short_line, summary
    from evenodds.report.progress import Progress

    progress = Progress(sys.stderr, "replay, steps")
    every: list[Replayed] = []
    for found in replay(run, names, from_start=asked.from_start, progress=progress):
        progress.close()
        every.append(found)
        yield found
        if asked.json:
            continue
        if len(every) == 1 and (told := conditions(found.different)):
            print(told)
        lines = lines_of(found, asked.trace) if len(names) <= FULL else [short_line(found)]
        print("\n".join(lines), flush=True)
    if asked.json:
        print(json.dumps({"run": run.name, "rollouts": [as_dict(found) for found in every]}))
    elif len(names) > 1:
        print("\n" + "\n".join(summary(every)))


def _ended(found: list[Replayed]) -> int:
    """0, or `GateError` where a rollout is not what the record says, rounding aside."""
    from evenodds.replay.altered import fault

    off = [(one.name, why) for one in found if (why := fault(one))]
    if off:
        raise GateError(
            f"{len(off)} of {len(found)} rollouts are not what the run has recorded, the first "
            f"{off[0][0]}: {off[0][1]}. Compare packages and hardware with passports/engine.json."
        )
    return 0
