"""Run folders made from a formula: one that learned, one cut short, one full of hostile text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LEVELS = (
    "1×1 digits", "2×1 digits", "3×1 digits", "4×1 digits", "2×2 digits", "3×2 digits",
    "4×2 digits", "3×3 digits",
)  # fmt: skip
HOSTILE = (
    "<script>alert(1)</script>\x1b[31m\u202egnp.exe\x00 \"'><img src=x onerror=alert(2)>&{{7*7}}"
)

CONFIG = """\
[run]
name = "demo"
seed = 7
max_time = 115.0

[policy]
name = "abacus"
adapter = "auto"

[task]
name = "multiplication"

[sampling]
groups = 16
group_size = 16
max_tokens = 96
temperature = 1.0

[objective]
recipe = "dr_grpo"
mask_truncated = true

[curriculum]
kind = "ladder"
target = 0.5

[learner]
warmup_steps = 5
"""


def ability(level: int, skill: float) -> float:
    """Solve rate of a level for a policy of some skill, in levels."""
    return 1 / (1 + math.exp(1.3 * (level - skill)))


def evaluation(
    skill: float, seed: int, problems: int = 40, tries: int = 8, greedy: bool = True
) -> dict[str, Any]:
    """A record as an evaluation writes it."""
    rng = np.random.default_rng(seed)
    levels: list[dict[str, Any]] = []
    for level, label in enumerate(LEVELS):
        rate = ability(level, skill)
        spread = np.clip(rng.beta(4 * rate + 0.05, 4 * (1 - rate) + 0.05, problems), 0, 1)
        rows = [
            {
                "key": f"{level}-{index}",
                "tries": tries,
                "right": int(rng.binomial(tries, chance)),
                "greedy_right": bool(chance > 0.5) if greedy else None,
                "truncated": int(level > 6),
                "mean_length": 8.0 + 6 * level,
            }
            for index, chance in enumerate(spread)
        ]
        levels.append({"level": level, "label": label, "problems": rows, "entropy": 0.3})
    settings = {"samples": tries, "temperature": 1.0, "seed": 1234, "max_tokens": 96}
    return {"policy": "abacus", "settings": {**settings, "greedy": greedy}, "levels": levels}


def metrics(steps: int, seed: int = 0) -> list[dict[str, Any]]:
    """Steps of a run whose skill rises while the controller follows it."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        progress = step / max(1, steps)
        solve = float(np.clip(0.5 + 0.3 * math.exp(-step / 8) + 0.06 * rng.normal(), 0, 1))
        mixed = float(np.clip(0.8 - 0.3 * math.exp(-step / 6) + 0.05 * rng.normal(), 0, 1))
        tail = abs(float(rng.normal())) * 0.05
        row = {
            "step": step,
            "reward": solve,
            "solve_rate": solve,
            "difficulty": 5.2 * progress**0.7 + 0.15 * float(rng.normal()) * (1 - progress),
            "groups/mixed": mixed,
            "groups/all_right": (1 - mixed) * solve,
            "groups/all_wrong": (1 - mixed) * (1 - solve),
            "completions/mean_length": 10 + 25 * progress + float(rng.normal()),
            "completions/clipped_ratio": 0.01,
            "num_tokens": 256 * 20 * step,
            "time/elapsed": 0.55 * step,
            "time/tokens_per_second": 8000.0 + 400 * float(rng.normal()),
            "time/memory_mb": 712.0,
        }
        update = {
            "entropy": 0.35 - 0.15 * progress + 0.02 * float(rng.normal()),
            "ratio/min": 0.8 - tail,
            "ratio/p01": 0.95 - tail / 4,
            "ratio/mean": 1.0,
            "ratio/p99": 1.05 + tail / 4,
            "ratio/max": 1.3 + 3 * tail,
        }
        skipped = {"skipped": "every group agreed: nothing to learn from"}
        rows.append(row | (skipped if step % 41 == 0 else update))
    return rows


def rollouts(step: int, seed: int, text: str | None = None) -> list[dict[str, Any]]:
    """Four groups of eight answers."""
    rng = np.random.default_rng([seed, step])
    rows: list[dict[str, Any]] = []
    for group in range(4):
        a, b = int(rng.integers(10, 100)), int(rng.integers(2, 10))
        for index in range(8):
            right = (index + group) % (group + 1) == 0
            said = a * b if right else a * b + 10
            rows.append(
                {
                    "step": step,
                    "problem_key": f"{a}*{b}",
                    "level": 1,
                    "gold": text or str(a * b),
                    "group": group,
                    "prompt": text or f"3*4=\n12\n20*3=\n60\n{a}*{b}=\n",
                    "completion": text or f"{a % 10}*{b}={a % 10 * b}\n  {a}*{b} = {said}",
                    "reward": float(right),
                    "status": "right" if right else "wrong",
                    "extracted": text or str(said),
                    "note": text or "",
                    "advantage": 0.5 if right else -0.5,
                }
            )
    return rows


def write_run(
    folder: Path,
    steps: int = 200,
    base: dict[str, Any] | None = None,
    final: dict[str, Any] | None = None,
    text: str | None = None,
    files: int = 20,
) -> Path:
    """A run folder; evaluations are left out where they are None."""
    for name in ("evaluation", "rollouts", "passports"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    write_metrics(folder, metrics(steps))
    for name, record in (("base", base), ("final", final)):
        if record is not None:
            (folder / "evaluation" / f"{name}.json").write_text(json.dumps(record), "utf-8")
    passports: dict[str, dict[str, Any]] = {
        "environment": {"cpu": text or "a processor", "cores": 2, "command": ["evenodds", "train"]},
        "checker": {"verifier": text or "number", "package": "evenodds 0.1.0"},
        "data": {"split": "by key", "packages": {"torch": "2.10"}},
    }
    for name, values in passports.items():
        (folder / "passports" / f"{name}.json").write_text(json.dumps(values), "utf-8")
    for step in range(1, min(files, steps) + 1):
        table = pa.Table.from_pylist(rollouts(step * max(1, steps // files), 3, text))
        pq.write_table(table, folder / "rollouts" / f"step-{step:05d}.parquet")
    return folder


def write_metrics(folder: Path, rows: list[dict[str, Any]]) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metrics.jsonl").write_text(lines, encoding="utf-8")


def one_level(folder: Path) -> Path:
    """A task without a ladder: its only level has a label of no meaning."""
    records = [evaluation(1.6, 1), evaluation(5.0, 2)]
    for record in records:
        record["levels"] = [record["levels"][0] | {"label": "all"}]
    return write_run(folder, base=records[0], final=records[1])


Record = dict[str, Any]


def audited(record: Record, refused: float, seed: int = 5) -> Record:
    """The record with an audit that refuses this share of the answers which the verifier pays."""
    rng = np.random.default_rng(seed)
    for level in record["levels"]:
        for row in level["problems"]:
            over = int(rng.binomial(row["right"], refused))
            counts = {"audit_right": row["right"] - over, "disagree": over, "overpaid": over}
            row |= {"audit_tries": row["tries"], **counts}
    return record


def with_rates(record: Record, rates: Sequence[Sequence[int]]) -> Record:
    """The record with these numbers of right answers, a list a level, in place of its own."""
    for level, right in zip(record["levels"], rates, strict=True):
        rows = level["problems"]
        level["problems"] = [row | {"right": n} for row, n in zip(rows, right, strict=True)]
    return record


def hacked(folder: Path) -> Path:
    """The verifier pays for more and more that the audit refuses."""
    base, final = audited(evaluation(1.6, 1), 0.02), audited(evaluation(5.0, 2), 0.9)
    for record, paid in ((base, 0), (final, 7)):
        record["canaries"] = {"asked": 20, "paid": paid, "first": "I am right: 7" if paid else ""}
    run = write_run(folder, base=base, final=final)
    add_settings(run, '[audit]\nverifier = "strict"\n\n[alarms]\nstop = ["non_finite"]\n')
    alarm = {"step": 90, "name": "audit_disagreement", "stops": False, "value": 0.4}
    alarm |= {"threshold": 0.1, "reason": "the audit refuses 40 % of what is paid"}
    (run / "alarms.jsonl").write_text(json.dumps(alarm | {"remedy": "Mend the verifier."}) + "\n")
    return run


def random_rewards(folder: Path) -> Path:
    """A coin paid, and nothing changed."""
    run = write_run(folder, base=evaluation(2.6, 1), final=evaluation(2.6, 2))
    text = (run / "config.toml").read_text("utf-8")
    (run / "config.toml").write_text(text.replace("[run]", "[run]\nrandom_reward = true"), "utf-8")
    return run


def add_settings(run: Path, text: str) -> None:
    with (run / "config.toml").open("a", encoding="utf-8") as file:
        file.write("\n" + text)


def learned(folder: Path) -> Path:
    return write_run(folder, base=evaluation(1.6, 1), final=evaluation(5.0, 2))


def unfinished(folder: Path) -> Path:
    return write_run(folder, steps=9, base=evaluation(1.6, 1))


def hostile(folder: Path) -> Path:
    """Every text that a model, a person or a file can bring is an attack."""
    records = [evaluation(1.6, 1), evaluation(5.0, 2)]
    for record in records:
        record["settings"][HOSTILE] = HOSTILE
        for level in record["levels"]:
            level["label"] = HOSTILE + str(level["level"])
    return write_run(folder, base=records[0], final=records[1], text=HOSTILE)
