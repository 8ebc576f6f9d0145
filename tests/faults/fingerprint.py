"""What must be equal after any story: a run's records and weights, without what clocks say."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet
from safetensors.numpy import load_file

CLOCKS = ("time/",)  # of a line of the metrics
PASSING = ("elapsed", "logs", "seals")  # of a checkpoint: seconds, and what has seconds in it


def fingerprint(run: Path) -> dict[str, Any]:
    """Name of a part -> its value, or a hash of it; every byte of a tensor and a rollout counts.

    Parts that are missing are missing here too. Two runs are the same where this is equal.
    """
    found: dict[str, Any] = {"metrics": _rows(run / "metrics.jsonl"), "names": names(run)}
    for name in ("groups.jsonl", "alarms.jsonl"):
        found[name] = _rows(run / name)
    for path in sorted(run.glob("rollouts/*.parquet")):
        found[f"rollouts/{path.name}"] = _table(path)
    for path in sorted(run.glob("evaluation/*.json")):
        record = json.loads(path.read_text())
        found[f"evaluation/{path.name}"] = {k: v for k, v in record.items() if k != "seconds"}
        found[f"evaluation/{path.stem}.parquet"] = _table(path.with_suffix(".parquet"))
    for folder in [run / "model", *sorted(run.glob("checkpoints/step-*"))[-1:]]:
        for path in sorted(folder.rglob("*.safetensors")):
            found[str(path.relative_to(run))] = _tensors(path)
        if (folder / "state.json").exists():
            state = json.loads((folder / "state.json").read_text())
            found["state"] = {key: value for key, value in state.items() if key not in PASSING}
    return found


def names(run: Path) -> list[str]:
    """Every file and folder of a run: what is left over somewhere is a difference too."""
    return sorted(str(path.relative_to(run)) for path in run.rglob("*"))


def differences(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    """The parts in which two fingerprints differ, with what each has of the first names."""
    parts = [key for key in sorted(one.keys() | two.keys()) if one.get(key) != two.get(key)]
    left = [f"{name!r} in one only" for name in _odd(one["names"], two["names"])]
    return [*parts, *left]


def _odd(one: list[str], two: list[str]) -> list[str]:
    return sorted(set(one) ^ set(two))


def leftovers(run: Path) -> list[str]:
    """What only a write that was never ended, or a replacement half way, leaves."""
    return [name for name in names(run) if ".evenodds-" in name or ".kept-" in name]


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in row.items() if not k.startswith(CLOCKS)} for row in rows]


def _table(path: Path) -> str:
    """Of the values, for a parquet file's bytes also name the writer."""
    rows = parquet.read_table(path).to_pylist()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _tensors(path: Path) -> str:
    sums = hashlib.sha256()
    for name, value in sorted(load_file(path).items()):
        sums.update(f"{name} {value.dtype} {value.shape}".encode())
        sums.update(np.ascontiguousarray(value).tobytes())
    return sums.hexdigest()
