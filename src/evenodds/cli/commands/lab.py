"""evenodds lab EXPERIMENT"""

from __future__ import annotations

from importlib import import_module

from evenodds.errors import unknown

EXPERIMENTS = {
    "oracle": "every objective against exact gradients; exit 3 if one is not what it says",
    "finite": "reward rises while the other right answers vanish, solved exactly",
    "toy": "a small GRU: a mean that rises while the model gets worse, and how not to",
    "pretrain-abacus": "make the bundled model again",
}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: evenodds lab EXPERIMENT [...]      more: evenodds lab EXPERIMENT --help\n")
        for name, line in EXPERIMENTS.items():
            print(f"  {name:<16} {line}")
        return 0
    if arguments[0] not in EXPERIMENTS:
        raise unknown("experiment", arguments[0], EXPERIMENTS)
    module = import_module(f"evenodds.cli.lab.{arguments[0].replace('-', '_')}")
    return module.main(arguments[1:])
