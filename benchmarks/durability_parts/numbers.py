"""N1 to N5: numbers that are not finite, edges of floats, and numbers that must be the same."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.durability_parts.rows import Row

CASES = 20_000
SYNCS = 1_000
SEED = 2026


def measure(budget: float | None) -> list[Row]:
    """All five; a budget is shared among them. Shapes are checked by the tests, and cost time."""
    import jaxtyping
    import torch

    from evenodds.policies.quiet import silence_transformers

    torch.set_num_threads(1)
    silence_transformers()  # as `load_policy` does; policies are made by hand here
    jaxtyping.config.update("jaxtyping_disable", True)  # pyright: ignore
    share = None if budget is None else budget / 5
    rows: list[Row] = []
    for part in (injections, edges, sameness, agreement, frozen):
        started = time.monotonic()
        rows += part(share)
        told = f"     {rows[-1].id}: {time.monotonic() - started:.0f} s"
        print(told, file=sys.stderr, flush=True)
    return rows


def injections(budget: float | None) -> list[Row]:
    """The 54 in every way: between sound steps, three in a row, with LoRA, in a second pass."""
    from tests.faults.drawn import drawn
    from tests.faults.injections import EVERY, Fault, amiss, amiss_in_a_row, amiss_in_pass_two

    later = [one for one in EVERY if one[0] not in ("reward", "old log-prob")]  # of the first pass
    ways: list[tuple[str, Callable[..., list[str]], Any, str]] = [
        ("between sound steps", amiss, EVERY, "all weights"),
        ("with LoRA", amiss, EVERY, "LoRA"),
        ("three in a row", amiss_in_a_row, EVERY, "all weights"),
        ("in the second pass", amiss_in_pass_two, later, "all weights"),
        ("in the second pass with LoRA", amiss_in_pass_two, later, "LoRA"),
    ]
    told: list[str] = []
    wrong: list[str] = []
    for name, tried, every, kind in ways:
        found = {one: tried(Fault(*one), kind) for one in drawn(every, budget and budget / 5, SEED)}
        bad = [f"{name} {one}: {what[0]}" for one, what in found.items() if what]
        told.append(f"{len(found) - len(bad)} of {len(found)} {name}")
        wrong += bad
        print(f"     N1: {told[-1]}", file=sys.stderr, flush=True)
    asked = (
        "54 injections: weights, moments and counts those before, skips counted, step, tensor and "
        "problem named, later steps as if there had been no update; 3 in a row end the run"
    )
    return [Row("N1", asked, ", ".join(told + wrong[:3]), not wrong)]


def edges(budget: float | None) -> list[Row]:
    """Drawn steps, each objective in turn."""
    from tests.objectives.extremes import NAMES, amiss

    until = time.monotonic() + (budget if budget is not None else float("inf"))
    count, wrong = 0, list[str]()
    while count < CASES and time.monotonic() < until:
        name = NAMES[count % len(NAMES)]
        if what := amiss(name, SEED + count):
            wrong.append(f"{name} seed {SEED + count}: {what[0]}")
        count += 1
    found = f"{count - len(wrong):,} of {count:,} cases over {len(NAMES)} objectives"
    asked = "20,000 cases, log ratios to 1e4: loss, gradients finite; advantages sum to 0 to 1e-6"
    return [Row("N2", asked, ", ".join([found, *wrong[:3]]), not wrong)]


def sameness(budget: float | None) -> list[Row]:
    """Two processes with one seed, and gradients however a batch is cut."""
    from tests.faults.agreement import FAMILIES, gradient_gaps

    names = list(FAMILIES) if budget is None else ["qwen3", "gpt2", "qwen3, LoRA"]
    gaps = {f"{name}, {how}": gap for name in names for how, gap in gradient_gaps(name)}
    worst = max(gaps, key=lambda name: gaps[name])
    different = _two_runs()
    found = (
        f"two processes: {', '.join(different) or 'all equal'}; gradients of {len(gaps)} ways to "
        f"cut {len(names)} policies at most {gaps[worst]:.1e} apart ({worst})"
    )
    asked = "same seed: metrics, rollouts, weights equal; gradients by any cut to 1e-6 in fp32"
    return [Row("N3", asked, found, not different and gaps[worst] <= 1e-6)]


def _two_runs() -> list[str]:
    """What differs between two runs of a few steps, each in a fresh Python."""
    from tests.faults.children import tiny
    from tests.faults.fingerprint import differences, fingerprint

    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        prints: list[dict[str, Any]] = []
        for name in ("one", "two"):  # in the same place, for records name the files of a task
            command = [sys.executable, "-m", "evenodds", *tiny(Path(folder), "r")]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                return [f"a run ended with {done.returncode}: {done.stderr.strip()[-200:]}"]
            moved = (Path(folder) / "r").rename(Path(folder) / name)
            prints.append(fingerprint(moved))
        return differences(*prints)


def agreement(budget: float | None) -> list[Row]:
    """Sampler and learner in fp32, which must agree, and in bf16, which is only shown."""
    from tests.faults.agreement import FAMILIES, bf16, first_passes

    names = list(FAMILIES) if budget is None else ["qwen3", "gpt2", "qwen3, LoRA"]
    whole = {name: first_passes(FAMILIES[name]()) for name in names}
    half = {name: first_passes(bf16(FAMILIES[name]())) for name in names}
    most = max(one.most for found in whole.values() for one in found)
    ratio = max(one.ratio for found in whole.values() for one in found)
    low = [one for found in half.values() for one in found]
    mean = statistics.fmean(one.mean for one in low)
    found = (
        f"fp32, {len(names)} policies, before and behind two updates: {most:.1e} nats, ratio "
        f"{ratio:.1e} from 1; bf16: {max(one.most for one in low):.1e} at most, {mean:.1e} mean"
    )
    asked = "sampler and learner in fp32 to 1e-5, first ratio 1 to 1e-5; bf16 shown"
    return [Row("N4", asked, found, most <= 1e-5 and ratio <= 1e-5)]


def frozen(budget: float | None) -> list[Row]:
    """SHA-256 of what an adapter stands on, in fp32 and in bf16, where the sampler packs it."""
    from tests.faults.agreement import bf16, synced
    from tests.tiny import make_lora, make_policy

    times = SYNCS if budget is None else 50
    kinds = {"fp32": lambda policy: policy, "bf16": bf16}  # pyright: ignore
    told: list[str] = []
    holds = True
    for name, kind in kinds.items():
        policy: Any = kind(make_policy("qwen3", num_hidden_layers=1))  # pyright: ignore
        found = synced(make_lora(policy), times)
        holds &= not found.changed and found.moved
        told.append(f"{name}: {len(found.changed)} of {found.tensors} tensors changed")
    asked = f"base weights below LoRA: SHA-256 unchanged behind {SYNCS:,} syncs"
    return [Row("N5", asked, f"{times:,} syncs, {', '.join(told)}", holds)]
