"""evenodds compare A B ..."""

from __future__ import annotations

import argparse
import glob
import json
import re
import sys
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from evenodds.cli.flags import Parser, add_settings, given
from evenodds.errors import UsageError

if TYPE_CHECKING:
    from evenodds.evaluation import Record
    from evenodds.report.contrast import Arm, Contrast
    from evenodds.run.measured import Found, Measure, Named

Sides = list[tuple[str, list[str]]]
"""The arms that were asked for: a name, and what it is made of."""

EPILOG = """A and B are runs (their final evaluation), RUN:base, RUN:step-40, or policies. A policy
is evaluated afresh, with the settings of the first run that is named. More than two: each against
the first, with Holm's correction. Several seeds of one kind make an arm, by a pattern in quotes or
by --arm. A run that was paid at random (--random-reward) says how much of a gain is the reward's.

examples:
  evenodds compare runs/mine:base runs/mine
  evenodds compare abacus runs/mine
  evenodds compare "runs/old-*" "runs/new-*"
  evenodds compare --arm old runs/old-1 runs/old-2 --arm new runs/new-1 runs/new-2
  evenodds compare runs/mine:base runs/mine runs/paid-at-random
"""


def main(arguments: list[str]) -> int:
    usage = "A B [...] [--arm NAME RUN RUN ...] [--again] [--json] [--SETTING VALUE ...]"
    about = "Differences on the same held-out problems, with paired intervals and a verdict."
    parser = Parser("compare", usage, about, EPILOG)
    parser.add_argument("names", nargs="*", metavar="A B", help="runs, points in runs, or policies")
    parser.add_argument(
        "--arm",
        nargs="+",
        action="append",
        default=[],
        metavar=("NAME", "RUN"),
        help="an arm of several seeds: its name, then its runs; may be repeated",
    )
    parser.add_argument("--again", action="store_true", help="evaluate all of them afresh")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON")
    add_settings(parser, ("policy",), ("task", "sampling", "judge", "evaluation"))
    found = parser.parse(arguments)
    return _compare(found)


def _compare(asked: argparse.Namespace) -> int:
    from evenodds.report.contrast import contrasts
    from evenodds.report.contrast_text import random_sentences

    sides = sides_of(asked.names, asked.arm)
    members = [[_named(name) for name in names] for _, names in sides]
    found = _measure(members, given(asked), again=asked.again)
    arms = [
        _arm(name, side, records)
        for (name, _), side, records in zip(sides, members, found, strict=True)
    ]
    _require_alike([(arm.name, record) for arm in arms for record in arm.records])
    results = contrasts(arms)
    notes = [one.note for side in found for one in side if one.note]
    said = random_sentences(arms)
    if asked.json:
        shown = {"notes": notes, "random_reward": said, "against": [c.to_dict() for c in results]}
        print(json.dumps(shown))
        return 0
    _print(arms, results, said, notes)
    return 0


def sides_of(names: Sequence[str], arms: Sequence[Sequence[str]]) -> Sides:
    """Arms in the order given, positional ones first; a pattern with `*` is an arm of its runs."""
    found: Sides = [(name, _expanded(name)) for name in names]
    for name, *parts in arms:
        if not parts:
            raise UsageError(f"--arm takes a name and then runs. Got {name!r} alone. Add its runs.")
        found.append((name, [one for part in parts for one in _expanded(part)]))
    if len(found) < 2:
        raise UsageError(f"a comparison needs two sides. Got {len(found)}. Name A and B.")
    return found


def _expanded(name: str) -> list[str]:
    """The runs that a pattern means, each at the point that is named behind it."""
    from evenodds.run.folder import ROOT
    from evenodds.run.opened import is_run

    point = "".join(re.findall(r":(?:base|final|step-\d+)$", name))
    pattern = name.removesuffix(point)
    if is_run(name) or is_run(pattern) or not any(sign in name for sign in "*?["):
        return [name]
    there = [one for one in glob.glob(pattern) or glob.glob(f"{ROOT}/{pattern}") if is_run(one)]
    if not there:
        raise UsageError(f"no run matches {name!r}. Check the pattern and the folder.")
    return [one + point for one in sorted(there)]


def _named(name: str) -> Named:
    from evenodds.run.measured import named

    return named(name)


def _measure(
    members: Sequence[Sequence[Named]], over: dict[str, Any], again: bool
) -> list[list[Found]]:
    """The evaluation of each; policies are evaluated, and runs too where `again` is asked for.

    All are looked up before the first is evaluated, which takes minutes.
    """
    from evenodds.report.terminal import make_view
    from evenodds.run.measured import Found, afresh, stored

    runs = [one for side in members for one in side if one.run is not None]
    if over and runs and not again:
        raise UsageError(
            f"a run was evaluated with its own settings. Got --{next(iter(over))}. "
            "Add --again to evaluate all of them afresh with yours."
        )
    like = runs[0].saved if runs else {}

    def looked_up(one: Named) -> Found | Measure:
        return afresh(one, like, over) if again or one.run is None else stored(one)

    every = [[looked_up(one) for one in side] for side in members]
    known = [(one.name, found) for one, found in zip(chain(*members), chain(*every), strict=True)]
    _require_alike([(name, found.record) for name, found in known if isinstance(found, Found)])
    view = make_view(sys.stderr)
    try:
        return [[f if isinstance(f, Found) else f(view.phase) for f in side] for side in every]
    finally:
        view.close()


def _arm(name: str, members: Sequence[Named], found: Sequence[Found]) -> Arm:
    """The same base of several runs counts once: no seed made it."""
    from evenodds.report.contrast import Arm

    records: list[Record] = []
    for one, measured in zip(members, found, strict=True):
        known = [record["levels"] for record in records]
        if one.is_trained or measured.record["levels"] not in known:
            records.append(measured.record)
    trained = any(one.is_trained for one in members)
    return Arm(name, tuple(records), trained, any(one.random_reward for one in members))


def _require_alike(records: Sequence[tuple[str, Record]]) -> None:
    """Raise `UsageError` for the first evaluation that was made otherwise than the first."""
    from evenodds.report.contrast import unlike

    for name, record in records:
        if difference := unlike(records[0][1], record):
            raise UsageError(
                f"{records[0][0]!r} and {name!r} were evaluated with different settings: "
                f"{difference}. Add --again to evaluate them alike."
            )


def _print(
    arms: Sequence[Arm], results: Sequence[Contrast], said: Sequence[str], notes: Sequence[str]
) -> None:
    from evenodds.report.contrast_text import ending, how, one_seed, page

    print("\n".join(how(arms[0].records[0])) + "\n")
    for result in results:
        print("\n".join(page(result)) + "\n")
    print("\n".join(ending(results, [*said, *one_seed(arms), *notes])))
