"""evenodds lab pretrain-abacus FOLDER"""

from __future__ import annotations

import sys
from pathlib import Path

from evenodds.cli.flags import Parser
from evenodds.errors import UsageError


def main(arguments: list[str]) -> int:
    about = "Make the bundled model again: supervised, on the CPU, from a seed."
    parser = Parser("lab pretrain-abacus", "FOLDER [--seed N] [--steps N]", about)
    parser.add_argument("folder", help="a folder that is not there yet")
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    parser.add_argument("--steps", type=int, help="(default: the recipe's)")
    found = parser.parse(arguments)
    target = Path(found.folder)
    if found.seed < 0 or (found.steps is not None and found.steps < 1):
        raise UsageError(
            f"--seed is 0 or more, --steps 1 or more. Got {found.seed}, {found.steps}. Mend them."
        )
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
