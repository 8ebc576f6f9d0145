"""Qwen3-0.6B with random weights on a GPU: python -m benchmarks.gpu [--json FILE] [--tiny].

Nothing is downloaded: the model is built from the numbers of its config. Printed are how far our
sampler and learner are from Hugging Face's forward, tokens a second of sampling, of Hugging Face
generate on the same work and of learning, the most memory, and which share of the peak rates of
this device, measured in the same call, was reached. `--tiny` runs the same code on the CPU in
seconds: its rates say nothing, its differences do. A part that cannot begin before --limit seconds,
or that runs out of memory, is left out and named.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from typing import Any

import torch

from benchmarks.common import writable
from benchmarks.gpu_parts import measure
from benchmarks.gpu_parts.made import QWEN3, TINY, Scale, as_policy, made_model, twin
from evenodds.machine import cpu_name, size_text
from evenodds.policies.quiet import quietly, silence_transformers
from evenodds.run.engine import prepare_process

LIMIT = 420  # seconds after which no part begins: all of it shall end within eight minutes
Parts = list[tuple[str, Callable[[], Any]]]


def parts_of(scale: Scale, device: torch.device, peak: measure.Peak) -> Parts:
    """Every part by its name, in order. Weights are made once, in bfloat16; float32 has the same.

    Generate comes before the adapter goes on, the update after all sampling.
    """
    base = made_model(scale, device, torch.bfloat16)
    policy = cache(lambda: as_policy(base, scale, lora=True))

    def exact() -> Any:
        return measure.agreement(as_policy(twin(base, torch.float32), scale, lora=True), scale)

    def generate(rows: int) -> Any:
        return measure.generating(base, scale, rows, peak)

    def sample(rows: int) -> Any:
        return measure.sampling(policy(), scale, rows, peak)

    return [
        ("agreement float32", exact),
        *((f"generate {rows}", partial(generate, rows)) for rows in scale.rows),
        ("agreement bfloat16", lambda: measure.agreement(policy(), scale)),
        *((f"sampling {rows}", partial(sample, rows)) for rows in scale.rows),
        ("learning", lambda: measure.learning(policy(), scale, peak)),
    ]


def run(scale: Scale, device: torch.device, limit: float) -> dict[str, Any]:
    """What every part measured, by its name; or why it did not, as a text."""
    started = time.monotonic()
    peak = measure.peak_rates(scale, device, torch.bfloat16)
    found: dict[str, Any] = {"model": scale.name, "device": device_name(device)}
    found["peak"] = asdict(peak)
    for name, part in parts_of(scale, device, peak):
        late = time.monotonic() - started > limit
        try:
            found[name] = "out of time" if late else part()
        except torch.OutOfMemoryError:
            found[name] = "out of memory"
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return {**found, "seconds": time.monotonic() - started}


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else cpu_name()


HEAD = "| | tokens/s | of FLOP/s | of bandwidth | peak memory | planned |"
GAPS = "| log-probabilities, nats a token | largest gap | mean gap |"


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures as Markdown."""
    peak = found["peak"]
    yield f"## {found['model']} on {found['device']}"
    yield ""
    yield (
        f"bfloat16 products {peak['operations'] / 1e12:.3g} TFLOP/s, "
        f"copy {peak['bandwidth'] / 1e9:.3g} GB/s, both measured in this call."
    )
    yield from ("", HEAD, "|---|---|---|---|---|---|")
    for name, row in found.items():
        if name.startswith(("sampling", "generate", "learning")):
            yield _row(name, row)
    yield from ("", GAPS, "|---|---|---|")
    for name, row in found.items():
        if name.startswith("agreement"):
            yield from _gaps(name.removeprefix("agreement "), row)
    if not isinstance(found["learning"], str):
        tokens = found["learning"]["micro_batch_tokens"]
        yield from ("", f"The memory plan chose micro-batches of {tokens:,} tokens.")
    yield f"{found['seconds']:.0f} s in all."


def _row(name: str, row: Mapping[str, Any] | str) -> str:
    if isinstance(row, str):
        return f"| {name} | not measured: {row} | | | | |"
    moved = f"{row['bandwidth_share']:.1%}" if "bandwidth_share" in row else ""
    plan = size_text(row["planned_bytes"]) if "planned_bytes" in row else ""
    return (
        f"| {name} | {row['tokens_per_second']:,.0f} | {row['operations_share']:.1%} | {moved} | "
        f"{size_text(row['peak_bytes'])} | {plan} |"
    )


def _gaps(dtype: str, row: Mapping[str, Any] | str) -> Iterator[str]:
    if isinstance(row, str):
        yield f"| {dtype} | not measured: {row} | |"
        return
    for name in ("sampler", "learner", "sampler and learner"):
        against = "" if "and" in name else " and Hugging Face"
        gap = row[name]
        yield f"| {dtype}: {name}{against} | {gap['largest']:.2g} | {gap['mean']:.2g} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU, in seconds")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds until the last begins")
    parser.add_argument("--json", type=writable, help="write all that was measured there too")
    options = parser.parse_args(arguments)
    if not options.tiny and not torch.cuda.is_available():
        print("no CUDA device is here. Run it where one is, or try the code with --tiny.")
        return 2
    prepare_process()
    silence_transformers()
    device = torch.device("cpu" if options.tiny else "cuda")
    with quietly():
        found = run(TINY if options.tiny else QWEN3, device, options.limit)
    print("\n".join(lines(found)))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
