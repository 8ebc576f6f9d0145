"""evenodds lab toy"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenodds.cli.flags import Parser
from evenodds.cli.pictures import plot_target, write_plot
from evenodds.errors import UsageError, unknown

if TYPE_CHECKING:
    import argparse

    from evenodds.lab.toy import ToyResult

USAGE = "[--profile smoke|full] [--seeds N] [--seed S] [--objective RECIPE] [--run FOLDER] [...]"
ABOUT = """\
A mean that rises while the model gets worse, and a setting that avoids it.

A small GRU learns sums of three digits from exercise books with slips in them. It is then
trained further by reinforcement learning in two settings: `narrow` pushes hard on twelve
prompts, `kept` gently on all of them, with a KL and its entropy held. Both are measured before
and after, on the prompts trained on and on held-out ones, with fresh answers.
"""
METRICS = """\
accuracy              share of sampled answers that are right
mean reward           0.80 correctness + 0.15 consistency of the work + 0.05 format
token entropy         nats a token, of the distribution sampled from
KL to the reference   nats a token, from the policy to the base, on the policy's own answers
pass@4                unbiased chance that one of four answers is right

smoke takes some ten seconds a seed and setting, full under a minute. docs/toy.md has five seeds.
"""
SETTINGS = ("narrow", "kept")


def main(arguments: list[str]) -> int:
    found = _parse(arguments)
    if found.run is not None:
        return _write_run(found)
    target = plot_target(found.plot)
    import torch

    from evenodds.lab.toy.tables import coverage_lines, sample_lines, table

    torch.set_num_threads(1)  # matrices this small lose by more
    chosen = SETTINGS if found.setting is None else (found.setting,)
    runs: dict[str, list[ToyResult]] = _run(found, chosen)
    for results in runs.values():
        print(f"\n{table(results)}")
    for results in runs.values():
        if found.samples:
            print("\n" + "\n".join(sample_lines(results[0])))
        if found.coverage:
            print("\n" + "\n".join(coverage_lines(results[0])))
    if target is not None:
        from evenodds.lab.toy.picture import picture

        write_plot(target, picture(runs))
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser("lab toy", USAGE, ABOUT, METRICS)
    add = parser.add_argument
    add("--profile", default="smoke", help="smoke or full (default: smoke)")
    add("--seeds", metavar="N", type=int, default=1, help="how many seeds (default: 1)")
    add("--seed", metavar="S", type=int, default=0, help="the first of them (default: 0)")
    add("--objective", metavar="RECIPE", default="dr_grpo", help="(default: dr_grpo)")
    add("--setting", metavar="NAME", help="narrow or kept (default: both)")
    add("--samples", action="store_true", help="show answers from before and after")
    add("--coverage", action="store_true", help="show right answers prompt by prompt")
    add("--run", metavar="FOLDER", help="write one run with its report, as evenodds train does")
    add("--case", metavar="NAME", help="of --run: learned, sharpened, random or hacked")
    add("--plot", metavar="FILE.svg", help="write the course of training as a picture")
    found = parser.parse(arguments)
    if found.setting is not None and found.setting not in SETTINGS:
        raise unknown("setting", found.setting, SETTINGS)
    if found.seeds < 1:
        raise UsageError(f"there must be a seed. Got --seeds {found.seeds}. Give 1 or more.")
    if found.seed < 0:
        raise UsageError(f"a seed is not negative. Got --seed {found.seed}. Give 0 or more.")
    if (found.run is None) != (found.case is None):
        raise UsageError(
            "--run and --case belong together. Got one of them. Say: --case learned --run runs/gru."
        )
    return found


def _write_run(found: argparse.Namespace) -> int:
    """One of the four runs whose conclusion is known, in a folder like any other run's."""
    from evenodds.lab.toy.cases import find_case, profile_of
    from evenodds.lab.toy.experiment import make_base
    from evenodds.lab.toy.folder import run_in_folder
    from evenodds.report.terminal import make_view

    case, view = find_case(found.case), make_view(sys.stderr)
    base = make_base(profile_of(case), found.seed, view.phase)
    return run_in_folder(case, Path(found.run), found.seed, base, view=view).exit_code


def _run(found: argparse.Namespace, chosen: tuple[str, ...]) -> dict[str, list[ToyResult]]:
    """Results by setting, one a seed; both settings start from the same base."""
    from evenodds.lab.toy import PROFILES, SETTINGS, make_base, run_toy_experiment
    from evenodds.lab.toy.experiment import objective_of
    from evenodds.report.terminal import make_view

    if found.profile not in PROFILES:
        raise unknown("profile", found.profile, PROFILES)
    for name in chosen:  # before anything is made: a wrong objective ends it here
        objective_of(found.objective, SETTINGS[name])
    view = make_view(sys.stderr)
    runs: dict[str, list[ToyResult]] = {name: [] for name in chosen}
    try:
        for seed in range(found.seed, found.seed + found.seeds):

            def tell(what: str, done: int, total: int, seed: int = seed) -> None:
                view.phase(f"seed {seed}, {what}", done, total)

            base = make_base(found.profile, seed, tell)
            for name in chosen:
                result = run_toy_experiment(found.profile, seed, found.objective, name, base, tell)
                runs[name].append(result)
    finally:
        view.close()
    return runs
