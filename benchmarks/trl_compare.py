"""How far TRL's loss and ours are apart, by mode: python -m benchmarks.trl_compare [--cases 50].

Runs both on the same fresh random batches. Exit 3 if a mode that is meant to be equal deviates by
more than 1e-12. Needs the extra: pip install -e '.[benchmarks]'.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from benchmarks.trl_cases import Case, random_case
from benchmarks.trl_goldens import MODES, SAME
from benchmarks.trl_harness import step
from tests.golden import trl_ours as ours

SPLIT = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "gspo, wide clip")


def fresh(mode: str, count: int, seed: int) -> Iterator[Case]:
    """Batches that the goldens do not have."""
    rng = np.random.default_rng([seed, *mode.encode()])
    for _ in range(count):
        yield random_case(rng, MODES[mode].get("cases", "whole"))


def deviation(mode: str, count: int, seed: int = 0) -> tuple[float, float]:
    """The largest differences of the loss and of any token's gradient."""
    objective, settings = ours.objective_of(mode), MODES[mode]
    worst = (0.0, 0.0)
    for number, case in enumerate(fresh(mode, count, seed)):
        outcome = asdict(step(case, settings, number))
        result = ours.score(objective, asdict(case), outcome, settings)
        found = ours.deviation(result, outcome)
        worst = (max(worst[0], found[0]), max(worst[1], found[1]))
    return worst


def of_twelve(rng: np.random.Generator) -> Case:
    """A batch of twelve answers, which has six equal splits."""
    while True:
        case = random_case(rng)
        if len(case.lengths) == 12:
            return case


def spread(mode: str, count: int, seed: int = 0) -> dict[int, float]:
    """Micro-batches of a step -> the largest difference of TRL's gradient from our one gradient."""
    objective, settings = ours.objective_of(mode), MODES[mode]
    rng = np.random.default_rng(seed)
    found = dict.fromkeys((1, 2, 3, 4, 6, 12), 0.0)
    for number in range(count):
        case = of_twelve(rng)
        one = ours.score_groups(objective, asdict(case), settings, cells=40).gradient
        for splits in found:
            outcome = step(case, settings | {"micro_batches": splits}, number)
            found[splits] = max(found[splits], float(np.abs(one - outcome.gradient).max()))
    return found


def main() -> int:
    warnings.simplefilter("ignore")  # transformers warns of itself at every step
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=50, help="random batches a mode (50)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    worst = 0.0
    print(f"{'mode':50s} loss     gradient   over {arguments.cases} batches")
    for mode in (*ours.EQUAL, *ours.BY_HAND):
        loss, gradient = deviation(mode, arguments.cases, arguments.seed)
        worst = max(worst, loss, gradient)
        print(f"{mode:50s} {loss:.0e}    {gradient:.0e}")
    for mode in SPLIT:
        found = spread(mode, max(1, arguments.cases // 5), arguments.seed)
        print(f"{mode}, gradient by micro-batches: ", {k: f"{v:.0e}" for k, v in found.items()})
    print(f"largest: {worst:.1e}")
    return 0 if worst <= SAME else 3


if __name__ == "__main__":
    sys.exit(main())
