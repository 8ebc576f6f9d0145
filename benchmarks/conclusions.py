"""Eight runs whose conclusion is known: python benchmarks/conclusions.py [--only gru|demo] [...]

Four of the GRU experiment and four of the demonstration: one that learned, one that only sharpened,
one that a coin paid, one whose verifier has a hole. Each is trained as anybody would, and what its
summary.json concludes is compared with what is known. Exit 3 if one is wrong. --write keeps what
the tests need of them below tests/golden/conclusions.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from evenodds.lab.toy import Base, make_base
from evenodds.lab.toy.cases import CASES, Case, profile_of
from evenodds.lab.toy.folder import run_in_folder
from evenodds.lab.toy.golden import save_base

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "conclusions"
RECIPES = ROOT / "recipes" / "evidence"
DEMO = {
    "learned": "learned",
    "sharpened": "sharpened",
    "random": "no_evidence",
    "hacked": "hacked",
}


class Quiet:
    """A view that shows notes alone."""

    def start(self, *_: object) -> None: ...
    def phase(self, *_: object) -> None: ...
    def step(self, *_: object) -> None: ...
    def table(self, *_: object) -> None: ...
    def close(self) -> None: ...
    def note(self, text: str) -> None:
        print(f"       {text}", flush=True)


def shown(estimate: dict[str, float] | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate['mean']:+.3f} [{estimate['low']:+.3f}, {estimate['high']:+.3f}]"


def told(what: str, seed: int, folder: Path, wanted: str, seconds: float) -> bool:
    """Print what summary.json says beside what is known; whether they agree."""
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    found = summary["conclusion"]
    is_right = found["kind"] == wanted
    alarms = ", ".join(alarm["name"] for alarm in summary["alarms"]) or "none"
    print(
        f"{'ok  ' if is_right else 'MISS'} {what:<16} seed {seed:<4} {found['kind']:<12}"
        f"{'' if is_right else f'(known: {wanted}) '}pass@1 {shown(found['gain'])}  "
        f"pass@{found['k']} {shown(found['gain_at_k'])}  alarms: {alarms}  {seconds:.0f} s\n"
        f"       {found['sentence']}",
        flush=True,
    )
    return is_right


def gru(case: Case, seed: int, root: Path, bases: dict[tuple[Any, int], Base]) -> bool:
    started = time.monotonic()
    at = (case.books, seed)
    if at not in bases:
        bases[at] = make_base(profile_of(case), seed)
    folder = root / f"gru-{case.name}-{seed}-{int(time.time())}"
    run_in_folder(case, folder, seed, bases[at], view=Quiet())
    return told(f"gru {case.name}", seed, folder, case.kind, time.monotonic() - started)


def demo(name: str, seed: int, root: Path, write: bool) -> bool:
    started = time.monotonic()
    folder = root / f"demo-{name}-{seed}-{int(time.time())}"
    command = [sys.executable, "-m", "evenodds", "train", str(RECIPES / f"{name}.toml")]
    command += ["--seed", str(seed), "--run.root", str(root), "--name", folder.name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"MISS demo {name}: exit {done.returncode}: {done.stderr[-500:]}")
        return False
    if write:
        keep(folder, GOLDEN / f"demo-{name}")
    return told(f"demo {name}", seed, folder, DEMO[name], time.monotonic() - started)


def keep(folder: Path, target: Path) -> None:
    """What a conclusion follows from, without what is large: answers, votes, weights."""
    target.mkdir(parents=True, exist_ok=True)
    config = (folder / "config.toml").read_text()
    (target / "config.toml").write_text(re.sub(r"(?m)^root = .*$", 'root = "runs"', config))
    for name in ("base", "final"):
        found = json.loads((folder / "evaluation" / f"{name}.json").read_text())
        for level in found["levels"]:
            for problem in level["problems"]:
                problem["votes"] = []
        data = json.dumps(found, separators=(",", ":")).encode()
        (target / f"{name}.json.gz").write_bytes(gzip.compress(data, mtime=0))
    alarms = folder / "alarms.jsonl"
    if alarms.exists():
        (target / "alarms.jsonl").write_bytes(alarms.read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["gru", "demo"])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[20, 21, 22, 23, 24])
    parser.add_argument("--demo-seeds", type=int, nargs="+", default=[10])
    parser.add_argument("--root", type=Path, default=Path("runs/conclusions"))
    parser.add_argument("--write", action="store_true", help="keep what the tests need")
    found = parser.parse_args()
    torch.set_num_threads(1)
    right: list[bool] = []
    bases: dict[tuple[Any, int], Base] = {}
    if found.only != "demo":
        cases = [CASES[name] for name in found.cases]
        right += [gru(case, seed, found.root, bases) for seed in found.seeds for case in cases]
        if found.write:
            save_all(bases, found.seeds[0])
    if found.only != "gru":
        right += [
            demo(name, seed, found.root, found.write)
            for seed in found.demo_seeds
            for name in found.cases
        ]
    print(f"\n{sum(right)} of {len(right)} conclusions are right")
    return 0 if all(right) else 3


def golden_base(case: Case) -> Path:
    """Where a case's base is kept; cases that read the same books share one."""
    first = next(name for name, other in CASES.items() if other.books == case.books)
    return GOLDEN / f"gru-{first}.safetensors"


def save_all(bases: dict[tuple[Any, int], Base], seed: int) -> None:
    """The bases of one seed, which the tests start from instead of making them again."""
    for case in CASES.values():
        if (case.books, seed) in bases:
            save_base(bases[case.books, seed], golden_base(case))


if __name__ == "__main__":
    sys.exit(main())
