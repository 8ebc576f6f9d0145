"""A training step beside TRL's: python -m benchmarks.speed [--works tiny small] [--rounds 5].

Each contender runs in a process of its own that loads once and then takes turns with the others on
the same weights, prompts, group size, answer lengths (forced), adapter, objective and optimizer
step. Printed are medians with their spread and, round by round, how many times as long the others
take; before that, what the machine does at the model's shapes. Contenders: ours; trl-default;
trl-best (or trl-fp32, trl-autocast, trl-bf16, each with @N for micro-batches of N answers). These
only sample: hf-bf16 and hf-fp32 (with -lora: the adapter as PEFT adds it), ours-base (our sampler
without an adapter). TRL needs the extra: pip install -e '.[benchmarks]'.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, is_dataclass
from typing import Any

from benchmarks.common import writable
from benchmarks.speed_parts import machine as roof
from benchmarks.speed_parts.children import Child
from benchmarks.speed_parts.table import OURS, Turn, learning, sampling, summary, table
from benchmarks.speed_parts.work import PROFILES, WARM, WORKS, Work

CONTENDERS = (OURS, "trl-default", "trl-best", "hf-bf16", "hf-fp32")


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(work: Work, profile: str, names: Sequence[str], rounds: int, trl_python: str) -> Any:
    """contender -> its turns, in the order of the rounds; and the load before each round."""
    turns: dict[str, list[Turn]] = {name: [] for name in names}
    loads: list[float] = []
    with ExitStack() as stack:
        children: dict[str, Child] = {}
        for name in names:
            python = trl_python if name.startswith("trl") else sys.executable
            child = stack.enter_context(Child("worker", [work.name, profile, name], python))
            child.answer()  # it is ready: the next may load
            children[name] = child
        for number in range(WARM, rounds + 1):
            load = os.getloadavg()[0]
            for name, child in children.items():
                found = child.turn(number)
                tell(f"{work.name} {_title(number)}, {name}: {told(found)}")
                if number != WARM:
                    turns[name].append(found)
            require_same_work({name: found[-1] for name, found in turns.items() if found})
            loads += [load] if number != WARM else []
    return turns, loads


def _title(number: int) -> str:
    return "warm-up" if number == WARM else f"round {number}"


def told(turn: Turn) -> str:
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in turn["phases"].items())
    return f"{turn['seconds']:.2f} s ({parts}), {turn['peak_gb']:.2f} GB"


def require_same_work(turns: Mapping[str, Turn]) -> None:
    """Ends the program unless all drew the same numbers of tokens behind the same prompts."""
    kinds = {(tuple(t["tokens"]), t["prompt_tokens"]) for t in turns.values()}
    if len(kinds) > 1:
        counts = {name: (sum(t["tokens"]), t["prompt_tokens"]) for name, t in turns.items()}
        raise SystemExit(f"the contenders did not do the same work: (answer, prompt) {counts}")


def shares(work: Work, machine: roof.Machine, turns: Sequence[Turn]) -> dict[str, float]:
    """Which part of the roofline sampling and learning reached: the median round."""
    middle = sorted(turns, key=lambda turn: turn["seconds"])[len(turns) // 2]
    tokens, prompt = middle["tokens"], middle["prompt_tokens"]
    found = {"sampling": machine.sampling_bound(work, tokens, prompt) / sampling(middle)}
    if middle["learned"]:
        found["learning"] = machine.learning_bound(work, tokens, prompt) / learning(middle)
    return found


def report(work: Work, profile: str, names: Sequence[str], options: argparse.Namespace) -> Any:
    """Measure one work, print its tables, and return all that was measured."""
    tell(f"{work.name}: measuring the machine")
    with Child("machine", [work.name]) as child:
        machine = roof.read(child.answer())
    turns, loads = run(work, profile, names, options.rounds, options.trl_python)
    found = summary(turns)
    for name, entry in found.items():
        entry["roofline"] = shares(work, machine, turns[name])
    answers = [sum(turn["tokens"]) for turn in next(iter(turns.values()))]
    print(
        f"\n## {work.name}: {work.groups} × {work.group_size} answers of ≤ {work.max_tokens} tokens"
        f", {profile}, {min(answers):,} to {max(answers):,} tokens a step, {options.rounds} rounds,"
        f" load {min(loads):.1f}–{max(loads):.1f}\n\n{roof.described(machine)}\n\n{table(found)}\n"
    )
    for name, entry in found.items():
        parts = ", ".join(f"{part} {share:.0%}" for part, share in entry["roofline"].items())
        print(f"{name}: {parts} of the roofline in {machine.precision(work)}")
    sys.stdout.flush()
    return {"profile": profile, "machine": machine, "loads": loads, "turns": turns, **found}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(type(value))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--works", nargs="+", choices=list(WORKS), default=["tiny", "small"])
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS))
    parser.add_argument("--profile", choices=PROFILES, default="uniform")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trl-python", default=sys.executable, help="an interpreter that has TRL")
    parser.add_argument("--json", type=writable, help="write all that was measured there too")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or the contenders would work on
    found = {
        name: report(WORKS[name], options.profile, options.contenders, options)
        for name in options.works
    }
    if options.json:
        options.json.write_text(json.dumps(found, indent=1, default=_plain), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
