"""What this machine can do at a model's own shapes, and how much of it a step used.

python -m benchmarks.speed_parts.machine WORK prints it as one JSON line.

The roofline counts matrix products alone, each once, as if nothing else took time:

- Let L be the weights in the linear layers of all blocks, H those of the output head, A those of
  the adapter (rank × (inputs + outputs) of each layer). A product of one token with a weight is 2
  floating-point operations.
- Sampling: each answer token costs one pass through L and H. The step that draws the n-th token
  has as many rows as there are answers of at least n tokens; its time is that of a pass with so
  many rows, measured, between two measured counts of rows by a straight line. The prompt is
  counted once a group, through L, at the rate of long products. Adapter and attention are left out.
- Learning: tokens are the answers' and, once a group, the prompt's. Forward 2 (L + A) a token and
  2 H an answer token. Backward: the gradient of the inputs costs as much again; that of the
  weights too, where they are trained: 4 A a token with an adapter, and 2 L and 2 H where all
  weights learn. Attention is left out, and so is whatever is computed twice.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed_parts.work import WORKS, Work
from evenodds.places import BUNDLED, bundled_folder

ROWS = (1, 4, 16, 32, 64)  # of decoding steps
LONG = 2048  # tokens of a long product
SLICE = 4  # blocks that stand in for all in long products


@dataclass(frozen=True)
class Shape:
    """The linear layers of one block as (inputs, outputs), how many blocks, and the head."""

    layers: tuple[tuple[int, int], ...]
    blocks: int
    head: tuple[int, int]

    @classmethod
    def of(
        cls,
        blocks: int,
        hidden: int,
        inner: int,
        heads: int,
        kv_heads: int,
        head_size: int,
        vocabulary: int,
    ) -> Shape:
        """Of the Llama family, with the layers that read the same input as one."""
        fused = (heads + 2 * kv_heads) * head_size
        layers = (hidden, fused), (heads * head_size, hidden), (hidden, 2 * inner), (inner, hidden)
        return cls(layers, blocks, (hidden, vocabulary))

    @property
    def weights(self) -> int:
        """L of the docstring: in all blocks."""
        return self.blocks * sum(a * b for a, b in self.layers)

    @property
    def head_weights(self) -> int:
        return self.head[0] * self.head[1]

    def adapter(self, rank: int) -> int:
        """A of the docstring; fused layers count as one."""
        return self.blocks * rank * sum(a + b for a, b in self.layers)


def shape_of(work: Work) -> Shape:
    folder = bundled_folder() if work.model == BUNDLED else Path(work.model).expanduser()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    return Shape.of(
        config["num_hidden_layers"],
        hidden,
        config["intermediate_size"],
        heads,
        config["num_key_value_heads"],
        config.get("head_dim") or hidden // heads,
        config["vocab_size"],
    )


@dataclass(frozen=True)
class Machine:
    """Of one work's model. passes: precision -> rows -> seconds of all products of a decoding step.
    long: precision -> operations a second of long products. copy: bytes a second, read and written.
    """

    shape: Shape
    passes: Mapping[str, Mapping[int, float]]
    long: Mapping[str, float]
    copy: float
    threads: int

    def precision(self, work: Work) -> str:
        """float32 for small models; else whichever makes long products faster here."""
        return max(self.long, key=lambda name: self.long[name]) if work.rank else "float32"

    def pass_seconds(self, precision: str, rows: float) -> float:
        known = self.passes[precision]
        return float(np.interp(rows, sorted(known), [known[n] for n in sorted(known)]))

    def sampling_bound(self, work: Work, tokens: Sequence[int], prompt_tokens: int) -> float:
        """Seconds that sampling takes at least, see the docstring above."""
        precision, sizes = self.precision(work), np.asarray(tokens)
        alive = [int((sizes >= n).sum()) for n in range(2, int(sizes.max()) + 1)]
        decoding = sum(self.pass_seconds(precision, rows) for rows in alive)
        return decoding + 2 * self.shape.weights * prompt_tokens / self.long[precision]

    def learning_bound(self, work: Work, tokens: Sequence[int], prompt_tokens: int) -> float:
        """Seconds that learning takes at least, see the docstring above."""
        answers = sum(tokens)
        count = learning_operations(self.shape, work.rank, answers, answers + prompt_tokens)
        return count / self.long[self.precision(work)]


def learning_operations(shape: Shape, rank: int, answers: int, tokens: int) -> int:
    """Floating-point operations of forward and backward; the docstring above has the formula."""
    trunk, head, adapter = shape.weights, shape.head_weights, shape.adapter(rank)
    inputs = 4 * trunk * tokens + 4 * head * answers  # forward, and the gradient of the inputs
    if rank:
        return inputs + 6 * adapter * tokens
    return inputs + 2 * trunk * tokens + 2 * head * answers


def _median_seconds(once: Callable[[], object], least: float = 0.4) -> float:
    """The median of at least three goes, after one that is not counted."""
    once()
    taken: list[float] = []
    while len(taken) < 3 or sum(taken) < least:
        started = time.perf_counter()
        once()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _products(shape: Shape, rows: int, blocks: int, dtype: Any) -> tuple[Callable[[], None], int]:
    """One pass of `rows` tokens through so many blocks and the head, and its operations."""
    import torch
    from torch.nn import functional

    every = [size for _ in range(blocks) for size in shape.layers] + [shape.head]
    weights = [torch.randn(outputs, inputs).to(dtype) for inputs, outputs in every]
    given = {inputs: torch.randn(rows, inputs).to(dtype) for inputs, _ in every}

    def once() -> None:
        for weight in weights:
            functional.linear(given[weight.shape[1]], weight)

    return once, 2 * rows * sum(a * b for a, b in every)


def measure(work: Work) -> Machine:
    """Run the products and a copy for some seconds."""
    import torch

    shape, precisions = shape_of(work), (torch.float32, torch.bfloat16)
    passes: dict[str, dict[int, float]] = {}
    long: dict[str, float] = {}
    with torch.inference_mode():
        for dtype in precisions:
            name = str(dtype).removeprefix("torch.")
            passes[name] = {}
            for rows in ROWS:
                once, _ = _products(shape, rows, shape.blocks, dtype)
                passes[name][rows] = _median_seconds(once)
            once, count = _products(shape, LONG, min(SLICE, shape.blocks), dtype)
            long[name] = count / _median_seconds(once)
        source, target = torch.ones(2**26), torch.empty(2**26)  # 256 MiB: more than any cache
        moved = 2 * source.nbytes
        copy = moved / _median_seconds(lambda: target.copy_(source))
    return Machine(shape, passes, long, copy, torch.get_num_threads())


def read(saved: Mapping[str, Any]) -> Machine:
    """The inverse of `asdict`, through JSON."""
    found = saved["shape"]
    layers = tuple((int(a), int(b)) for a, b in found["layers"])
    shape = Shape(layers, found["blocks"], (found["head"][0], found["head"][1]))
    passes = {n: {int(k): v for k, v in rows.items()} for n, rows in saved["passes"].items()}
    return Machine(shape, passes, saved["long"], saved["copy"], saved["threads"])


def described(machine: Machine) -> str:
    """The measured rates in two lines."""
    shape = machine.shape
    step = 2 * (shape.weights + shape.head_weights)
    parts = [f"copy {machine.copy / 1e9:.0f} GB/s"]
    for name, rate in machine.long.items():
        at = {rows: step * rows / machine.passes[name][rows] / 1e9 for rows in (16, 64)}
        parts.append(
            f"{name} products {rate / 1e9:.0f} GFLOP/s at {LONG} tokens, "
            f"{at[64]:.0f} at 64 rows, {at[16]:.0f} at 16"
        )
    return f"machine, {machine.threads} threads: " + "; ".join(parts)


if __name__ == "__main__":
    print(json.dumps(asdict(measure(WORKS[sys.argv[1]]))), flush=True)
