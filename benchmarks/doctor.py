"""What `evenodds doctor` foretells, beside what the run then does.

    python -m benchmarks.doctor [--steps 12] [--only demo cut] [--json FILE]

For each configuration the probe of the preflight is made in this process, and then a short run of
the same settings in a process of its own. A row a figure: foretold, measured, and whether they
agree within the stated bound. Exit 3 where one does not. Times are by the clock: leave the machine
alone meanwhile.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import Run, train, writable

from evenodds.run.build import objective_of, plan_of
from evenodds.run.config import make_config, merge
from evenodds.run.folder import RunFolder
from evenodds.run.making import native_engine
from evenodds.run.preflight.arithmetic import reach
from evenodds.run.preflight.budget import MUCH, WANTED, enough
from evenodds.run.preflight.fits import written_by
from evenodds.run.preflight.ground import Ground
from evenodds.run.preflight.pace import pace_of
from evenodds.run.preflight.probing import probed
from evenodds.run.preflight.signal import beginning, expected

CASES: dict[str, dict[str, Any]] = {
    "demo": {},
    "two levels": {"curriculum.kind": "fixed", "curriculum.levels": "6,7", "sampling.groups": 8},
    "cut": {"curriculum.kind": "fixed", "curriculum.levels": "5,6", "sampling.max_tokens": 12},
    "lora, two passes": {"policy.adapter": "lora", "learner.passes": 2, "sampling.groups": 24},
}
FIRST = 3  # steps whose shares are compared: later ones have learned
TIMES = 1.5  # how far a time may be off, either way
ALWAYS = {"evaluation.problems": 20}


@dataclass(frozen=True)
class Row:
    """One figure. bound: in words, within which both agree."""

    case: str
    figure: str
    foretold: str
    measured: str
    bound: str
    agrees: bool


def ground_of(over: dict[str, Any], root: Path) -> Ground:
    """The preflight's own ground, with its probe."""
    typed = {
        k: [int(n) for n in v.split(",")] if k.endswith("levels") else v for k, v in over.items()
    }
    config = make_config(merge({}, typed | {"run.root": str(root)}))
    plan, objective = plan_of(config), objective_of(config)
    made = native_engine(plan, objective)
    probe = probed(plan, made, objective, lambda what: lambda done, total: None)
    return Ground(plan, objective, made, RunFolder(root / "none"), None, probe)


def times(case: str, figure: str, foretold: float, measured: float) -> Row:
    off = max(foretold / measured, measured / foretold)
    bound, agrees = f"a factor of {TIMES:g}", off <= TIMES
    return Row(case, figure, f"{foretold:.2f}", f"{measured:.2f}", bound, agrees)


def at_most(case: str, figure: str, foretold: float, measured: float) -> Row:
    """What is foretold is for a run that changes much; one that changes little is surer."""
    agrees = measured <= 1.1 * foretold
    return Row(case, figure, f"{foretold:.1f} at most", f"{measured:.1f}", "at most", agrees)


def shares(case: str, figure: str, low: float, mean: float, high: float, counts: Any) -> Row:
    """counts: of single steps or groups, whose own spread is allowed for beside the interval."""
    values = np.asarray(counts, dtype=np.float64)
    noise = 1.96 * float(values.std()) / max(1, values.size) ** 0.5
    measured = float(values.mean())
    foretold = f"{mean:.1%} [{low:.1%}, {high:.1%}]"
    agrees = low - noise <= measured <= high + noise
    return Row(
        case, figure, foretold, f"{measured:.1%} ± {noise:.1%}", "the intervals meet", agrees
    )


def rows(case: str, ground: Ground, done: Run) -> Iterator[Row]:
    found, pace, metrics = ground.sampled, pace_of(ground), done.metrics
    assert found is not None and pace is not None
    config = ground.plan.config
    own = [row["time/step"] for row in metrics[1:]]
    yield times(case, "seconds a step", pace.step, float(np.median(own)))
    base = done.evaluation("base")
    yield times(case, "seconds of an evaluation", pace.evaluation, base["seconds"])
    weights = beginning(ground.plan, found)
    share = expected(found, weights, config.sampling.group_size)
    mixed = [row["groups/mixed"] for row in metrics[:FIRST]]
    yield shares(case, "mixed groups", share.low, share.mean, share.high, mixed)
    cut = found.truncated
    seen = [row["completions/clipped_ratio"] for row in metrics[:FIRST]]
    yield shares(case, "truncated", cut.low, cut.mean, cut.high, seen)
    gain = done.comparison.overall.gain
    problems = sum(len(level["problems"]) for level in base["levels"])
    half = 100 * reach(problems, config.evaluation.samples)
    yield at_most(case, "± points of the gain", half, 50 * (gain.high - gain.low))
    files = sum(f.stat().st_size for f in (done.folder / "rollouts").iterdir()) / len(metrics)
    written = written_by(ground, found, len(metrics))
    yield times(case, "kB of rollouts a step", (written.step - 4000) / 1e3, files / 1e3)


def proposed(case: str, over: dict[str, Any], ground: Ground, root: Path) -> Iterator[Row]:
    """Whether the budget that is proposed, where answers are cut, cuts few."""
    found = ground.sampled
    assert found is not None
    tokens = enough(found.lengths, found.cut, found.budget)
    if found.truncated.mean < MUCH or tokens is None:
        return
    again = ground_of(over | {"sampling.max_tokens": tokens}, root).sampled
    assert again is not None
    share = again.truncated
    bound, agrees = f"less than {MUCH:.0%}", share.mean < MUCH
    yield Row(case, f"cut at {tokens} tokens", f"{WANTED:.0%}", str(share), bound, agrees)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--only", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--json", type=writable)
    asked = parser.parse_args()
    every: list[Row] = []
    for case in asked.only:
        over = CASES[case] | ALWAYS | {"run.steps": asked.steps}
        with tempfile.TemporaryDirectory() as root:
            ground = ground_of(over, Path(root))
            flags = [part for name, value in over.items() for part in (f"--{name}", str(value))]
            ignore = ["--check.ignore", "truncation,informative"]
            done = train(case.replace(", ", "-").replace(" ", "-"), Path(root), [*flags, *ignore])
            for row in (*rows(case, ground, done), *proposed(case, over, ground, Path(root))):
                every.append(row)
                mark = "ok  " if row.agrees else "MISS"
                print(
                    f"{mark} {row.case:<17} {row.figure:<25} foretold {row.foretold:<24} "
                    f"measured {row.measured:<16} [{row.bound}]",
                    flush=True,
                )
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in every], indent=1))
    return 0 if all(row.agrees for row in every) else 3


if __name__ == "__main__":
    sys.exit(main())
