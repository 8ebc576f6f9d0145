"""What must be equal after any story: a run's records and weights, without what clocks say."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet
from safetensors.numpy import load_file

from evenodds.durable import SEALS, TEMPORARY, Seals
from evenodds.durable.manifest import MANIFEST, fault_of

CLOCKS = ("time/",)  # of a line of the metrics
PASSING = ("elapsed", "logs", "seals")  # of a checkpoint: seconds, and what has seconds in it
APART = re.compile(r"(\.kept-)[0-9a-f]{8}")  # what stood in the way of a checkpoint
TIMED = re.compile(
    rb'"(time/[a-z_]+|seconds|elapsed|length)": ?[0-9.e+-]+|"(sha256|seal)": ?"[0-9a-f]+"'
)
"""What a clock wrote, or is as long as what a clock wrote."""

OLDER = re.compile(r"checkpoints/step-\d+(?:/|$)")

UNREAD = ("config.toml", "report.html", "report.md", "summary.json")
"""Files that name the run, or are made again."""


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
    for path in sorted(run.glob("evaluation/*.parquet")):
        found[f"evaluation/{path.name}"] = _table(path)
    for folder in [run / "model", *sorted(run.glob("checkpoints/step-*"))[-1:]]:
        for path in sorted(folder.rglob("*.safetensors")):
            found[str(path.relative_to(run))] = _tensors(path)
        if (folder / "state.json").exists():
            state = json.loads((folder / "state.json").read_text())
            found["state"] = {key: value for key, value in state.items() if key not in PASSING}
    return found


def names(run: Path) -> list[str]:
    """Every file and folder of a run: what is left over somewhere is a difference too."""
    return sorted(APART.sub(r"\1", str(path.relative_to(run))) for path in run.rglob("*"))


def differences(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    """The parts in which two fingerprints differ, with what each has of the first names."""
    parts = [key for key in sorted(one.keys() | two.keys()) if one.get(key) != two.get(key)]
    left = [f"{name!r} in one only" for name in _odd(one["names"], two["names"])]
    return [*parts, *left]


def _odd(one: list[str], two: list[str]) -> list[str]:
    return sorted(set(one) ^ set(two))


def unlike(run: Path, whole: dict[str, Any]) -> list[str]:
    """How a run that has come to its end is another than that which nobody disturbed.

    An older checkpoint may stay, where to clear it was what failed; the next one would do it.
    """
    found = fingerprint(run)
    wanted = set(whole["names"])
    found["names"] = [path for path in found["names"] if path in wanted or not OLDER.match(path)]
    empty = [path for path in run.rglob("*") if path.is_file() and not path.stat().st_size]
    odd = [f"empty: {path}" for path in empty if path.name != "lock"]
    return [*differences(whole, found), *odd]


def leftovers(run: Path) -> list[str]:
    """What only a write that was never ended, or a replacement half way, leaves."""
    return [name for name in names(run) if ".evenodds-" in name or ".kept-" in name]


def state_of(run: Path) -> str:
    """A hash of all that a run folder holds, but for what clocks, names and processes made.

    What lies in a temporary file is left out, for it goes at the next start whatever it is; and
    what lies in the lock, for it holds nothing once its process has gone.
    """
    sums = hashlib.sha256()
    for path in sorted(run.rglob("*"), key=_plain):
        sums.update(f"\0{_plain(path.relative_to(run))} {path.is_file()} ".encode())
        if path.name == MANIFEST:
            sums.update(fault_of(path.parent).encode() and b"damaged")
        elif path.is_file():
            sums.update(_content(path, run))
    return sums.hexdigest()


def _plain(path: Path) -> str:
    return APART.sub(r"\1", re.sub(r"evenodds-tmp-\d+-[0-9a-f]{8}", "evenodds-tmp", str(path)))


def _content(path: Path, run: Path) -> bytes:
    if any(map(TEMPORARY.fullmatch, path.relative_to(run).parts)) or path.name == "lock":
        return b""
    if path.name == SEALS:
        return _seals(run)
    if {path.name, path.parent.name} & {*UNREAD, "passports"}:
        return b"some" if path.stat().st_size else b"none"
    return TIMED.sub(b"", path.read_bytes())


def _seals(run: Path) -> bytes:
    """How often they were written, how many each file may have, and whether one of them fits."""
    seals = Seals(run)
    with suppress(Exception):
        found = seals.read()
        fits = {name: seals.fault(name, known) is None for name, known in found.files.items()}
        counts = {name: len(known) for name, known in found.files.items()}
        return repr((found.serial, found.since, fits, counts)).encode()
    return b"damaged"


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
