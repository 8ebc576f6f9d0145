"""The one place that writes what must survive: kill it anywhere, the last good state is there.

A file or folder is made beside its target under a temporary name, brought to the disk, and
renamed; a folder carries a manifest with the size and SHA-256 of every file, written last.
Whatever the system refuses is a RunError of one line with the path and what was needed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from evenodds.errors import RunError
from evenodds.machine import explain, system_reason

MANIFEST = "manifest.json"
FORMAT = "evenodds-folder-1"
TEMPORARY = re.compile(r"\.evenodds-tmp-\d+-[0-9a-f]{8}")
ASIDE = ".evenodds-old-"


@contextmanager
def told(path: Path, needed: int = 0) -> Generator[None]:
    """Turn an error of the system into a RunError of one line about `path`."""
    try:
        yield
    except Exception as error:
        if system_reason(error) is None:
            raise
        raise RunError(explain(error, path, needed)) from error


def _flush(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        with suppress(OSError):  # plain fsync leaves the data in the drive's cache there
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def _flush_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return  # a folder cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _flush(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems have no fsync for folders
            raise
    finally:
        os.close(descriptor)


def _write_new(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        _flush(file.fileno())


def temporary(parent: Path) -> Path:  # `recover` clears what a crash leaves under such a name
    return parent / f".evenodds-tmp-{os.getpid()}-{secrets.token_hex(4)}"


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove(path: Path) -> None:
    """Remove what we made, as far as it goes: a leftover is harmless and goes at the next start."""
    with suppress(OSError):
        shutil.rmtree(path) if _is_folder(path) else path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, durably; one that is there stays as it is."""
    with told(path):
        if path.is_dir():
            return
        if path.parent != path:
            make_folder(path.parent)
        path.mkdir(exist_ok=True)
        _flush_folder(path.parent)


def write_file(path: Path, data: bytes | str) -> None:
    """Write a whole file: afterwards the new text is on the disk, or the old one is untouched."""
    content = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    beside = temporary(path.parent)
    with told(path, len(content)):
        try:
            _write_new(beside, content)
            os.replace(beside, path)
        except BaseException:
            _remove(beside)
            raise
        _flush_folder(path.parent)


def _line(record: Mapping[str, Any]) -> bytes:
    """One line of strict JSON: NaN and the infinities, which it does not know, become null."""
    known = json.loads(json.dumps(record), parse_constant=lambda _: None)
    return json.dumps(known, separators=(",", ":")).encode() + b"\n"


def _whole_length(file: IO[bytes]) -> int:
    """Length up to the end of the last whole line."""
    length = file.seek(0, os.SEEK_END)
    if not length:
        return 0
    file.seek(length - 1)
    if file.read(1) == b"\n":
        return length
    file.seek(0)
    return file.read(length).rfind(b"\n") + 1


@dataclass(frozen=True)
class AppendLog:
    """A file of JSON lines (metrics.jsonl). No descriptor stays open between the calls.

    At a checkpoint: `length = log.sync()`, and the length goes into the checkpoint. At a resume:
    `log.truncate_to(length)`, so that the steps that are done again are not there twice.
    """

    path: Path

    def append(self, record: Mapping[str, Any], sync: bool = False) -> int:
        """Add one line and return the new length in bytes. NaN and infinities become null.

        A torn last line, left by a crash or a failed write, goes first.
        """
        line = _line(record)
        with told(self.path, len(line)), open(self.path, "a+b") as file:
            before = file.truncate(_whole_length(file))
            file.write(line)
            file.flush()
            if sync:
                _flush(file.fileno())
            return before + len(line)

    def sync(self) -> int:
        """Bring all lines to the disk and return the length in bytes that is safe from now on."""
        with told(self.path), open(self.path, "a+b") as file:
            length = file.truncate(_whole_length(file))
            _flush(file.fileno())
            _flush_folder(self.path.parent)
            return length

    def truncate_to(self, length: int) -> None:
        """Cut back to a length that `sync` once returned. RunError if those lines are gone."""
        with told(self.path), open(self.path, "a+b") as file:
            there = file.seek(0, os.SEEK_END)
            file.seek(length - 1 if length else 0)
            if length > there or (length and file.read(1) != b"\n"):
                raise RunError(
                    f"{str(self.path)!r} does not belong to the checkpoint: it has {there} bytes, "
                    f"and no line ends at byte {length}. Bring the file back or start a new run."
                )
            file.truncate(length)
            _flush(file.fileno())


def _walk(folder: Path) -> list[Path]:
    """The folder and everything below it. What cannot be read is an error, never skipped."""
    found = [folder]
    for path in sorted(folder.iterdir()):
        found += _walk(path) if _is_folder(path) else [path]
    return found


def _files(folder: Path) -> list[Path]:
    return [path for path in _walk(folder) if not _is_folder(path)]


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest_text(files: Mapping[str, Mapping[str, Any]]) -> str:
    """The manifest in its only spelling, sealed by a checksum of itself, so any change shows."""
    body = json.dumps({"format": FORMAT, "files": files}, sort_keys=True, indent=1)
    seal = hashlib.sha256(body.encode()).hexdigest()
    return json.dumps({"format": FORMAT, "files": files, "seal": seal}, sort_keys=True, indent=1)


def _seal(folder: Path) -> None:
    """Bring every file to the disk, then write the manifest, then the folders themselves."""
    entries: dict[str, dict[str, Any]] = {}
    for path in _files(folder):
        if path.is_symlink() or not path.is_file():
            raise RunError(f"{str(path)!r} is no ordinary file. Write a plain file instead of it.")
        with open(path, "r+b" if sys.platform == "win32" else "rb") as file:
            _flush(file.fileno())
        name = path.relative_to(folder).as_posix()
        entries[name] = {"size": path.stat().st_size, "sha256": _digest(path)}
    _write_new(folder / MANIFEST, _manifest_text(entries).encode())
    for path in filter(_is_folder, reversed(_walk(folder))):
        _flush_folder(path)


def _is_inside(name: str) -> bool:
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
        if whole and all(map(_is_inside, files)) and data == _manifest_text(files).encode():
            return files
    return None


def _fault(path: Path, entry: Mapping[str, Any]) -> str:
    if path.is_symlink() or not path.is_file():
        return "is missing"
    size = path.stat().st_size
    if size != entry["size"]:
        return f"has {size} bytes instead of {entry['size']}"
    return "" if _digest(path) == entry["sha256"] else "is damaged (its SHA-256 differs)"


def _fault_of(folder: Path) -> str:
    """What is wrong with a folder, naming the first bad file; empty if nothing is."""
    path = folder / MANIFEST
    try:
        files = _read_manifest(folder)
        if files is None:
            return f"{str(path)!r} is damaged or missing"
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
    if fault := _fault_of(path):
        raise RunError(f"{fault}. Use another checkpoint.")


def is_ours(folder: Path) -> bool:
    """Whether a folder was made here and holds nothing else: a whole manifest, no unlisted file."""
    with suppress(OSError):
        files = _read_manifest(folder)
        listed = {folder / name for name in [*(files or ()), MANIFEST]}
        return files is not None and set(_files(folder)) <= listed
    return False


def _discard(folder: Path) -> None:
    """Remove a folder; the rename first, so that a crash leaves no half of it under its name."""
    doomed = temporary(folder.parent)
    os.replace(folder, doomed)
    _remove(doomed)


def _restore(target: Path) -> None:
    """Undo a replacement that a crash stopped half way; clear what a finished one left."""
    aside = target.with_name(ASIDE + target.name)
    if not is_ours(aside):
        return
    if not os.path.lexists(target):
        os.replace(aside, target)
        _flush_folder(target.parent)
    elif not _fault_of(target):
        _discard(aside)


def _make_way(target: Path) -> None:
    """Free the name and delete nothing: ours waits aside for the new one, others are kept apart."""
    if os.path.lexists(target):
        aside = target.with_name(ASIDE + target.name)
        apart = target.with_name(f"{target.name}.kept-{secrets.token_hex(4)}")
        if os.path.lexists(aside):  # left by _restore: not ours, or better than a damaged target
            os.replace(aside, aside.with_name(apart.name + "-old"))
        os.replace(target, aside if is_ours(target) else apart)


def _written(folder: Path) -> int:
    with suppress(OSError):
        return sum(path.lstat().st_size for path in _files(folder))
    return 0


def _fill_and_rename(beside: Path, target: Path, fill: Callable[[Path], None]) -> None:
    _restore(target)
    beside.mkdir()
    fill(beside)
    _seal(beside)
    _make_way(target)
    os.replace(beside, target)
    _flush_folder(target.parent)


def commit_folder(target: Path, fill: Callable[[Path], None], needed: int = 0) -> None:
    """Make a folder whole or not at all: `fill` writes into a temporary one beside the target.

    When this returns, the folder is on the disk with its manifest. An older folder of that name
    stays until the new one is in its place. `needed`: the expected size in bytes, for the message.
    """
    beside = temporary(target.parent)
    try:
        _fill_and_rename(beside, target, fill)
    except BaseException as error:
        told_why = explain(error, target, max(needed, _written(beside)))
        _remove(beside)
        with suppress(OSError):
            _restore(target)
        if isinstance(error, Exception) and system_reason(error) is not None:
            raise RunError(told_why) from error
        raise
    with suppress(OSError):
        _restore(target)


def numbered(parent: Path, prefix: str) -> list[Path]:
    """The folders named prefix and a number (step-00010), highest number first."""
    pattern = re.compile(re.escape(prefix) + r"[0-9]+")
    with told(parent):
        if not parent.is_dir():
            return []
        named = [path for path in parent.iterdir() if pattern.fullmatch(path.name)]
    return sorted(named, key=lambda path: int(path.name.removeprefix(prefix)), reverse=True)


def valid_folders(
    parent: Path, prefix: str, at_most: int | None = None
) -> tuple[list[Path], list[str]]:
    """The numbered folders whose every file is as it was written, newest first, and what to say.

    What to say is one line that names the damaged ones, or nothing. Reading stops after `at_most`
    good ones: 1 is enough to go on with a run.
    """
    good: list[Path] = []
    bad: list[str] = []
    for folder in numbered(parent, prefix):
        if len(good) == at_most:
            break
        if fault := _fault_of(folder):
            bad.append(fault)
        else:
            good.append(folder)
    return good, [f"passed over {len(bad)} damaged: {'; '.join(bad)}."] if bad else []


def prune(parent: Path, prefix: str, keep: int) -> list[Path]:
    """Remove the numbered folders older than the newest `keep` good ones; returns those removed.

    Only good ones are counted, and they are read to know it, so the last good one always stays.
    A folder without our whole manifest, or with a file that it does not list, is never touched.
    """
    good, _ = valid_folders(parent, prefix, max(1, keep))
    every = numbered(parent, prefix)
    first = every.index(good[-1]) + 1 if len(good) >= max(1, keep) else len(every)
    old = [folder for folder in every[first:] if is_ours(folder)]
    for folder in old:
        with told(folder):
            _discard(folder)
    return old


def recover(parent: Path) -> None:
    """Clear what a crash left in a folder. Call it at the start, with the run's lock held.

    Temporary files and folders of our own pattern go, and a replacement that was stopped half way
    is undone. Nothing else is touched.
    """
    with told(parent):
        for path in sorted(parent.iterdir()) if parent.is_dir() else []:
            if TEMPORARY.fullmatch(path.name):
                _remove(path)
            elif path.name.startswith(ASIDE) and path.name[len(ASIDE) :].strip("."):
                _restore(path.with_name(path.name[len(ASIDE) :]))
