"""A mean that rises while the model gets worse: python benchmarks/toy.py [--seeds 5] [--ablate]

Runs `evenodds lab toy`'s two settings over seeds, prints their tables and whether the published
pattern is shown by `narrow` and avoided by `kept`. Exit 1 if it is not. --ablate also runs either
setting with one choice of the other's.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from evenodds.lab.toy import PROFILES, SETTINGS, Base, Setting, make_base, run_toy_experiment
from evenodds.lab.toy.pattern import avoided, change_of, shown
from evenodds.lab.toy.picture import picture
from evenodds.lab.toy.tables import markdown, spread, table, verdict_lines

NARROW, KEPT = SETTINGS["narrow"], SETTINGS["kept"]
CHOICES = {
    "prompts": ("prompts",),
    "answers a prompt": ("group_size",),
    "rate": ("learning_rate",),
    "passes": ("passes",),
    "KL": ("kl",),
    "entropy bonus": ("entropy", "entropy_step"),
    "KL and entropy bonus": ("kl", "entropy", "entropy_step"),
}
SHOWN = (
    ("train", "accuracy"),
    ("held-out", "accuracy"),
    ("held-out", "pass@4"),
    ("held-out", "token entropy"),
)


def swapped(base: Setting, other: Setting, names: tuple[str, ...]) -> Setting:
    """The first setting with some of its choices replaced by the second's."""
    return replace(base, **{name: getattr(other, name) for name in names})


def ablate(profile: str, bases: dict[int, Base]) -> None:
    for base, other in ((KEPT, NARROW), (NARROW, KEPT)):
        print(f"\n{base.name} with one choice of {other.name}'s; intervals over seeds\n")
        print("| | " + " | ".join(f"{side} {metric}" for side, metric in SHOWN) + " |")
        print("|---" * (len(SHOWN) + 1) + "|")
        settings = {f"{base.name} as it is": base}
        for what, names in CHOICES.items():
            settings[f"{what} of {other.name}"] = swapped(base, other, names)
        for name, setting in settings.items():
            print(f"| {name} | {' | '.join(_cells(profile, setting, bases))} |", flush=True)


def _cells(profile: str, setting: Setting, bases: dict[int, Base]) -> list[str]:
    quiet = replace(PROFILES[profile], checks=0)
    results = [
        run_toy_experiment(quiet, seed, setting=setting, base=base) for seed, base in bases.items()
    ]
    return [spread(change_of(results, side, metric).seeds) for side, metric in SHOWN]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", choices=list(PROFILES), default="full")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--objective", default="dr_grpo")
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument(
        "--markdown", action="store_true", help="tables as they stand in docs/toy.md"
    )
    parser.add_argument("--picture", type=Path, help="write the course of training as FILE.svg")
    found = parser.parse_args()
    torch.set_num_threads(1)
    bases: dict[int, Base] = {}
    runs = {name: [] for name in SETTINGS}
    for seed in range(found.first, found.first + found.seeds):
        started = time.monotonic()
        bases[seed] = base = make_base(found.profile, seed)
        for name, results in runs.items():
            results.append(run_toy_experiment(found.profile, seed, found.objective, name, base))
        seconds = time.monotonic() - started
        print(f"seed {seed}: {seconds:.0f} s", file=sys.stderr, flush=True)
    for results in runs.values():
        print(f"\n{markdown(results) if found.markdown else table(results)}")
    if found.picture:
        found.picture.write_text(picture(runs), encoding="utf-8")
    pattern = shown(runs["narrow"])
    avoidance = avoided(runs["narrow"], runs["kept"])
    print("\nnarrow shows the pattern:", *verdict_lines(pattern), sep="\n")
    print("\nkept avoids it:", *verdict_lines(avoidance), sep="\n")
    if found.ablate:
        ablate(found.profile, bases)
    holds = all(check.holds for check in [*pattern, *avoidance])
    print("\nthe pattern is shown, and avoided" if holds else "\nMISS")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
