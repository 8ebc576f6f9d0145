"""Weights: safetensors only, and their headers true to the files that they stand in."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evenodds.errors import UsageError
from evenodds.machine import size_text
from evenodds.policies.vetted.adapters import CONFIG
from evenodds.policies.vetted.files import read_object, refused

LONGEST = 32 * 2**20  # bytes of a header: some 200,000 tensors
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".h5", ".msgpack", ".joblib", ".npy")
INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
ADAPTER = "adapter_model.safetensors"
BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
    "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64, "F8_E4M3": 8, "F8_E5M2": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
SPARE = 256 * 2**20  # bytes that a model may need beyond its weights, in tables that it makes


@dataclass(frozen=True)
class Held:
    """What the weight files of a folder hold, by their headers."""

    bytes: int
    tensors: int

    @property
    def modules(self) -> int:
        """More modules than a model of so many tensors has."""
        return 2000 + 16 * self.tensors

    def require_enough(self, parameters: int, buffers: int, name: str) -> None:
        """A model must not be much larger than its files: config.json can ask for any size.

        parameters: how many; a file packs at most two into a byte. buffers: bytes of the rest.
        """
        if not self.bytes:
            raise refused(name, f"it has no weights, neither {WHOLE!r} nor {INDEX!r}")
        if parameters > 2 * self.bytes + 2**20 or buffers > self.bytes + SPARE:
            raise UsageError(
                f"the config.json of {name!r} describes {parameters:,} parameters, but the weights "
                f"have {size_text(self.bytes)}. Give the config.json that belongs to them."
            )


def require_plain_weights(folder: Path, name: str) -> None:
    """Where there are weights they are safetensors, whole, and in this folder."""
    held_by(folder, name)
    sound = [ADAPTER] if (folder / CONFIG).exists() else [WHOLE, INDEX]
    if any((folder / file).exists() for file in sound):
        return
    pickles = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
    if pickles:
        raise UsageError(
            f"{name!r} has its weights in {pickles[0]!r}, a format that can run code, so it is "
            "never opened. Save them as safetensors."
        )


def require_adapter(folder: Path, name: str) -> None:
    """Raise `UsageError` where the weights of an adapter are not there; a plan needs none."""
    if not (folder / ADAPTER).exists():
        raise refused(name, f"it has an {CONFIG}, but no {ADAPTER}")


def held_by(folder: Path, name: str) -> Held:
    """What the safetensors files hold that a library would open. Raises `UsageError`."""
    files = [folder / WHOLE] if (folder / WHOLE).exists() else _shards(folder, name)
    if (folder / ADAPTER).exists():
        files.append(folder / ADAPTER)
    headers = [_header(file, name) for file in files]
    return Held(sum(file.stat().st_size for file in files), sum(map(len, headers)))


def _shards(folder: Path, name: str) -> list[Path]:
    """The files that the index names, each in this folder."""
    found = read_object(folder / INDEX, name)
    if not found:
        return []
    table = found.get("weight_map")
    if not isinstance(table, dict):
        raise refused(name, f"{INDEX!r} has no table 'weight_map'")
    files: dict[str, None] = {}
    for file in cast(dict[str, Any], table).values():
        if not isinstance(file, str) or Path(file).name != file or "\\" in file:
            raise refused(name, f"{INDEX!r} names {str(file)[:60]!r}, which is no file of it")
        if not file.endswith(".safetensors"):
            raise refused(name, f"{INDEX!r} names {file[:60]!r}, which is no safetensors file")
        if file not in files and not (folder / file).is_file():
            raise refused(name, f"{file[:60]!r} is missing, which {INDEX!r} names")
        files[file] = None
    return [folder / file for file in files]


def _header(path: Path, name: str) -> list[tuple[int, int]]:
    """Begin and end of each tensor, after every claim of the header was checked.

    The format: eight bytes with the header's length, little end first; JSON; the tensors, one
    after another without a gap.
    """
    size = path.stat().st_size
    with open(path, "rb") as file:
        first = file.read(8)
        length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
        if not 2 <= length <= min(LONGEST, max(0, size - 8)):
            raise _damaged(path, name, "the length of its header cannot be right")
        text = file.read(length)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _damaged(path, name, "its header is no JSON") from None
    if not isinstance(found, dict):
        raise _damaged(path, name, "its header is no table")
    table = cast(dict[str, Any], found)
    spans = [_span(path, name, key, row) for key, row in table.items() if key != "__metadata__"]
    end = 0
    for begin, stop in sorted(spans):
        if begin != end:
            raise _damaged(path, name, "its tensors overlap, or leave gaps")
        end = stop
    if end != size - 8 - length:
        raise _damaged(path, name, "its tensors do not end where the file does")
    return spans


def _span(path: Path, name: str, key: str, row: Any) -> tuple[int, int]:
    try:
        shape, (begin, stop) = [int(n) for n in row["shape"]], map(int, row["data_offsets"])
        bits = BITS[row["dtype"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _damaged(path, name, f"its header says nonsense of {key[:80]!r}") from None
    if min(shape, default=0) < 0 or begin < 0 or (stop - begin) * 8 != math.prod(shape) * bits:
        raise _damaged(path, name, f"shape and size of {key[:80]!r} do not fit each other")
    return begin, stop


def _damaged(path: Path, name: str, why: str) -> UsageError:
    return refused(name, f"{path.name!r} is damaged: {why}")
