"""The files of a model folder: its own, of a size that such files have, and real files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from evenodds.errors import UsageError
from evenodds.machine import size_text

MANY = 10_000  # entries of a folder
NESTED = "additional_chat_templates"  # the only folder in a folder that a library looks into
MEGABYTE = 2**20
MOST = {  # bytes; several times the largest that is published
    "config.json": 8 * MEGABYTE,
    "adapter_config.json": MEGABYTE,
    "generation_config.json": MEGABYTE,
    "tokenizer_config.json": 32 * MEGABYTE,
    ".json": 128 * MEGABYTE,
    ".jinja": MEGABYTE,
    ".txt": 128 * MEGABYTE,
    ".model": 128 * MEGABYTE,
}


def require_own_files(folder: Path, name: str) -> None:
    """No link leads out of the folder, nothing that is read is a device, a pipe or huge."""
    for path in _entries(folder, name):
        if path.is_symlink():
            _require_inside(path, folder, name)
        try:
            found = path.stat()
        except OSError as error:
            raise refused(name, f"{path.name!r} cannot be read: {error.strerror}") from None
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise refused(name, f"{path.name!r} is no file but a device, a pipe or a socket")
        if stat.S_ISDIR(found.st_mode) and path.suffix in (".json", ".safetensors", ".jinja"):
            raise refused(name, f"{path.name!r} is a folder")
        most = MOST.get(path.name, MOST.get(path.suffix))
        if most is not None and found.st_size > most:
            got = size_text(found.st_size)
            raise refused(name, f"{path.name!r} has {got}, where {size_text(most)} are the most")


def _entries(folder: Path, name: str) -> list[Path]:
    found: list[Path] = []
    for place in (folder, folder / NESTED):
        if not place.is_dir():
            continue
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    found.append(Path(entry.path))
                    if len(found) > MANY:
                        raise refused(name, f"it has more than {MANY:,} files")
        except OSError as error:
            raise refused(name, f"it cannot be read: {error.strerror}") from None
    return sorted(found)


def _require_inside(path: Path, folder: Path, name: str) -> None:
    """A link may lead to another file of the folder, or to where the hub's own cache keeps files:
    its snapshots are folders of links to the `blobs` beside them."""
    home = folder.resolve()
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise refused(name, f"{path.name!r} is a link that leads nowhere") from None
    kept = home.parent.parent / "blobs" if home.parent.name == "snapshots" else None
    if not target.is_relative_to(home) and not (kept and target.parent == kept):
        raise UsageError(
            f"{name!r} is not opened: {path.name!r} is a link out of the folder. "
            "Put the file itself there."
        )


def read_object(path: Path, name: str) -> dict[str, Any]:
    """The JSON object in a file, empty where there is no such file. Raises `UsageError`."""
    if not path.exists():
        return {}
    most = MOST.get(path.name, MOST[".json"])
    if not path.is_file() or path.stat().st_size > most:
        raise refused(name, f"{path.name!r} is no file of at most {size_text(most)}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)[:100]
        raise refused(name, f"{path.name!r} is no JSON: {why}") from None
    if not isinstance(found, dict):
        raise refused(name, f"{path.name!r} is no JSON object")
    return found


def refused(name: str, what: str) -> UsageError:
    """The error for a folder that is not opened. what: is wrong with it."""
    return UsageError(f"{name!r} is not opened: {what}. Give a sound model folder.")
