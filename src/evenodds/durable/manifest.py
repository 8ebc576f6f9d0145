"""A folder's manifest: size and SHA-256 of every file, written last, and read before it is used."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from evenodds.durable.disk import flush, flush_folder, is_folder, write_new
from evenodds.errors import RunError, sentences

MANIFEST = "manifest.json"
FORMAT = "evenodds-folder-1"


def walk(folder: Path) -> list[Path]:
    """The folder and everything below it. What cannot be read is an error, never skipped."""
    found = [folder]
    for path in sorted(folder.iterdir()):
        found += walk(path) if is_folder(path) else [path]
    return found


def files_in(folder: Path) -> list[Path]:
    return [path for path in walk(folder) if not is_folder(path)]


def digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed_text(body: Mapping[str, Any]) -> str:
    """A record in its only spelling, sealed by a checksum of itself, so that any change shows."""
    seal = hashlib.sha256(json.dumps(body, sort_keys=True, indent=1).encode()).hexdigest()
    return json.dumps({**body, "seal": seal}, sort_keys=True, indent=1)


def manifest_text(files: Mapping[str, Mapping[str, Any]]) -> str:
    return sealed_text({"format": FORMAT, "files": files})


def seal(folder: Path) -> None:
    """Bring every file to the disk, then write the manifest, then the folders themselves."""
    entries: dict[str, dict[str, Any]] = {}
    for path in files_in(folder):
        if path.is_symlink() or not path.is_file():
            raise RunError(f"{str(path)!r} is no ordinary file. Write a plain file instead of it.")
        with open(path, "r+b" if sys.platform == "win32" else "rb") as file:
            flush(file.fileno())
        name = path.relative_to(folder).as_posix()
        entries[name] = {"size": path.stat().st_size, "sha256": digest(path)}
    write_new(folder / MANIFEST, manifest_text(entries).encode())
    for path in filter(is_folder, reversed(walk(folder))):
        flush_folder(path)


def is_inside(name: str) -> bool:
    """Whether a name that a file gives leads nowhere but below the folder."""
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts


def _read_manifest(folder: Path) -> dict[str, dict[str, Any]] | None:
    """The files that the manifest lists, or None if it is missing or not as it was written."""
    path = folder / MANIFEST
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    data = path.read_bytes()  # an error of the system is no damage, so it passes through
    with suppress(ValueError, RecursionError, KeyError, TypeError, AttributeError):
        files: dict[str, dict[str, Any]] = json.loads(data)["files"]
        whole = all(set(entry) == {"size", "sha256"} for entry in files.values())
        if whole and all(map(is_inside, files)) and data == manifest_text(files).encode():
            return files
    return None


def sums_of(folder: Path) -> dict[str, str]:
    """Name -> SHA-256 of each file, as the manifest says; empty where there is no whole one."""
    with suppress(OSError):
        return {name: entry["sha256"] for name, entry in (_read_manifest(folder) or {}).items()}
    return {}


def _fault(path: Path, entry: Mapping[str, Any]) -> str:
    if path.is_symlink() or not path.is_file():
        return "is missing"
    size = path.stat().st_size
    if size != entry["size"]:
        return f"has {size} bytes instead of {entry['size']}"
    return "" if digest(path) == entry["sha256"] else "is damaged (its SHA-256 differs)"


def _is_newer(path: Path) -> bool:
    """Whether a manifest says that it is of a format that is not known here yet."""
    with suppress(OSError, ValueError, RecursionError, TypeError, AttributeError):
        named = str(json.loads(path.read_bytes()).get("format"))
        stem, _, number = named.rpartition("-")
        ours, _, known = FORMAT.rpartition("-")
        return stem == ours and number.isdigit() and int(number) > int(known)
    return False


def fault_of(folder: Path) -> str:
    """What is wrong with a folder, naming the first bad file; empty if nothing is."""
    path = folder / MANIFEST
    try:
        files = _read_manifest(folder)
        if files is None:
            newer = f"is of a newer evenodds than this one, which reads {FORMAT}"
            return f"{str(path)!r} {newer if _is_newer(path) else 'is damaged or missing'}"
        for name, entry in files.items():
            path = folder / name
            if fault := _fault(path, entry):
                return f"{str(path)!r} {fault}"
    except OSError as error:
        return f"{str(path)!r} cannot be read ({error.strerror})"
    return ""


def verify_folder(path: Path) -> None:
    """Read every file that the manifest lists. RunError naming the first one that is not as it was.

    Files that the manifest does not list are no fault.
    """
    if fault := fault_of(path):
        raise RunError(sentences(fault, "Use another checkpoint"))


def is_ours(folder: Path) -> bool:
    """Whether a folder was made here and holds nothing else: a whole manifest, no unlisted file."""
    with suppress(OSError):
        files = _read_manifest(folder)
        listed = {folder / name for name in [*(files or ()), MANIFEST]}
        return files is not None and set(files_in(folder)) <= listed
    return False
