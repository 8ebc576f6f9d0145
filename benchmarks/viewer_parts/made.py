"""A long run as the disk holds it, made of a few steps that are written again and again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evenodds.records.columns import COLUMNS, arrow
from evenodds.records.groups import rebuilt_line
from evenodds.records.table import as_parquet

LEVELS = 8
DIFFERENT = 4  # steps whose answers differ; the others repeat them
CONFIG = """\
[run]
name = "made"
steps = {steps}
[policy]
name = "abacus"
[task]
name = "multiplication"
[sampling]
groups = {groups}
group_size = {size}
max_tokens = 96
temperature = 1.0
[objective]
recipe = "dr_grpo"
[curriculum]
kind = "ladder"
target = 0.5
"""


def write_run(folder: Path, steps: int, groups: int, size: int, tokens: int = 64) -> None:
    """A finished run of so many steps, each of `groups` x `size` answers of about `tokens` ids."""
    (folder / "rollouts").mkdir(parents=True)
    (folder / "evaluation").mkdir()
    (folder / "config.toml").write_text(CONFIG.format(steps=steps, groups=groups, size=size))
    tables = [made_table(seed, groups, size, tokens) for seed in range(DIFFERENT)]
    lines: list[dict[str, Any]] = []
    for number, table in enumerate(tables):
        path = folder / f"step-{number}.parquet"
        path.write_bytes(as_parquet(table))
        lines.append(rebuilt_line(number, path))
        path.unlink()
    with open(folder / "groups.jsonl", "w") as file:
        for step in range(1, steps + 1):
            at = step % DIFFERENT
            numbered = tables[at].set_column(
                0, "step", pa.array([step] * (groups * size), pa.int32())
            )
            (folder / "rollouts" / f"step-{step:05d}.parquet").write_bytes(as_parquet(numbered))
            file.write(json.dumps({**lines[at], "step": step}) + "\n")
    with open(folder / "metrics.jsonl", "w") as file:
        for step in range(1, steps + 1):
            file.write(json.dumps(metrics(step, steps)) + "\n")
    for name, skill in (("base", 2.0), ("final", 4.0)):
        (folder / "evaluation" / f"{name}.json").write_text(json.dumps(evaluation(skill)))


def made_table(seed: int, groups: int, size: int, tokens: int) -> Any:
    """One step with every column that a run records, in the order of `COLUMNS`."""
    rng = np.random.default_rng(seed)
    rows = groups * size
    lengths = rng.integers(tokens // 2, tokens * 3 // 2, rows)
    right = rng.random(rows) < np.repeat(rng.random(groups), size)
    factors = [(int(a), int(b)) for a, b in rng.integers(10, 999, (groups, 2))]
    group = np.repeat(np.arange(groups), size)
    plain: dict[str, list[Any]] = {
        "step": [0] * rows,
        "problem_key": [f"multiplication/{a}*{b}" for a, b in factors for _ in range(size)],
        "gold": [str(a * b) for a, b in factors for _ in range(size)],
        "prompt": [f"3*4=\n12\n20*3=\n60\n{a}*{b}=\n" for a, b in factors for _ in range(size)],
        "completion": [
            answer(rng, *factors[g], bool(ok)) for g, ok in zip(group, right, strict=True)
        ],
        "level": [int(g) % LEVELS for g in group],
        "group": group.tolist(),
        "answer": [int(at) % size for at in range(rows)],
        "group_size": [size] * rows,
        "round": [0] * rows,
        "stop": rng.choice(["end_token", "budget"], rows, p=[0.97, 0.03]).tolist(),
        "reward": right.astype(float).tolist(),
        "status": ["right" if ok else "wrong" for ok in right],
        "extracted": [str(int(n)) for n in rng.integers(0, 10**6, rows)],
        "note": ["last number; compared exactly"] * rows,
        "audit_status": ["right" if ok else "wrong" for ok in right ^ (rng.random(rows) < 0.01)],
        "advantage": (right - right.mean()).tolist(),
        "kept": [True] * rows,
        "why": [""] * rows,
        "parts": [[{"name": "answer", "value": float(ok)}] for ok in right],
        "verifier": ["number"] * rows,
        "policy_version": [0] * rows,
        "seed": list(range(rows)),
        "cut_length": [0] * rows,
        "stop_strings": [["\n"]] * rows,
        "temperature": [1.0] * rows,
        "max_tokens": [96] * rows,
    }
    return pa.table({name: column(name, plain, lengths, rng) for name in COLUMNS})


def column(name: str, plain: dict[str, list[Any]], lengths: Any, rng: Any) -> Any:
    """The values of a column: as given, or numbers for each token, or null."""
    kind = arrow(COLUMNS[name])
    if name in plain:
        return pa.array(plain[name], kind)
    if COLUMNS[name] not in ("floats", "ids"):
        return pa.nulls(len(lengths), kind)
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    count = int(lengths.sum())
    ids = COLUMNS[name] == "ids"
    few = rng.integers(3, 20, 16) if ids else -rng.exponential(0.4, 16)  # or they fill the disk
    values = few[rng.integers(0, 16, count)]
    return pa.ListArray.from_arrays(ends, pa.array(values, kind.value_type, safe=False), type=kind)


def answer(rng: Any, a: int, b: int, is_right: bool) -> str:
    """An answer with some work in it, so that texts are as long as those of a model."""
    said = a * b if is_right else a * b + int(rng.integers(1, 99))
    work = " ".join(f"{a}*{digit}={a * int(digit)}" for digit in str(b))
    return f"{work} sum {int(rng.integers(0, 10**6))}\n{a}*{b} = {said}"


def metrics(step: int, steps: int) -> dict[str, Any]:
    """A line of metrics.jsonl with about as many names as a run writes."""
    rng = np.random.default_rng(step)
    share, noise = step / steps, float(rng.normal())
    row: dict[str, Any] = {
        "step": step,
        "policy_version": step,
        "reward": 0.5 + 0.02 * noise,
        "solve_rate": min(1.0, max(0.0, 0.5 + 0.05 * noise)),
        "difficulty": 6 * share,
        "groups/mixed": 0.8,
        "groups/all_right": 0.1,
        "groups/all_wrong": 0.1,
        "entropy": 0.4 - 0.2 * share,
        "completions/mean_length": 20 + 40 * share + noise,
        "completions/clipped_ratio": 0.03,
        "kl": 0.1 * share,
        "clip_ratio/region_mean": 0.02,
        "grad_norm": 0.3,
        "loss": 0.01 * noise,
        "num_tokens": 32768 * step,
        "time/step": 2.0 + 0.1 * noise,
        "time/sample": 1.0,
        "time/learn": 0.8,
        "time/elapsed": 2.0 * step,
    }
    for level in range(LEVELS):
        rate = 1 / (1 + math.exp(level - 6 * share))
        row |= {f"level/{level}/solve_rate": rate, f"level/{level}/groups": 4}
        row |= {f"posterior/level {level}": rate}
    names = ("ratio/min", "ratio/p01", "ratio/p50", "ratio/mean", "ratio/p99", "ratio/max")
    row |= {name: 1 + (at - 2.5) * 0.05 for at, name in enumerate(names)}
    return row | {f"status/{name}": 0.1 for name in ("right", "wrong", "no_answer", "timeout")}


def evaluation(skill: float) -> dict[str, Any]:
    """A record of forty problems a level."""
    rng = np.random.default_rng(int(skill))
    levels: list[dict[str, Any]] = []
    for level in range(LEVELS):
        rate = 1 / (1 + math.exp(level - skill))
        problems = [
            {
                "key": f"{level}-{at}",
                "tries": 8,
                "right": int(rng.binomial(8, rate)),
                "greedy_right": rate > 0.5,
                "truncated": 0,
                "mean_length": 30.0,
            }
            for at in range(40)
        ]
        levels.append({"level": level, "label": f"level {level}", "problems": problems})
    settings = {"samples": 8, "temperature": 1.0, "seed": 1234, "max_tokens": 96, "greedy": True}
    return {"policy": "abacus", "settings": settings, "levels": levels}
