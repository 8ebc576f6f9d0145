"""evenodds lab EXPERIMENT"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from evenodds.cli.flags import Parser
from evenodds.errors import UsageError, unknown


def _pretrain_abacus(arguments: list[str]) -> int:
    about = "Make the bundled model again: supervised, on the CPU, from a seed."
    parser = Parser("lab pretrain-abacus", "FOLDER [--seed N] [--steps N]", about)
    parser.add_argument("folder", help="a folder that is not there yet")
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    parser.add_argument("--steps", type=int, help="(default: the recipe's)")
    found = parser.parse(arguments)
    target = Path(found.folder)
    if target.exists():
        raise UsageError(f"{found.folder!r} exists already. Name a new folder.")
    from dataclasses import replace

    from evenodds.lab.abacus import Recipe
    from evenodds.lab.make_abacus import make

    recipe = replace(Recipe(), seed=found.seed)
    if found.steps is not None:
        recipe = replace(recipe, steps=found.steps)
    print(make(target, recipe, sys.stderr))
    return 0


EXPERIMENTS: dict[str, tuple[Callable[[list[str]], int], str]] = {
    "pretrain-abacus": (_pretrain_abacus, "make the bundled model again"),
}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: evenodds lab EXPERIMENT [...]\n")
        for name, (_, line) in EXPERIMENTS.items():
            print(f"  {name:<16} {line}")
        return 0
    if arguments[0] not in EXPERIMENTS:
        raise unknown("experiment", arguments[0], EXPERIMENTS)
    return EXPERIMENTS[arguments[0]][0](arguments[1:])
