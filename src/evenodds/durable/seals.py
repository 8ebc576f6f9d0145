"""Seals: the SHA-256 of each file of a folder that is written whole, in a file that seals itself.

A folder that comes to be at one moment has a manifest. A run folder grows, so its seals are
written beside its files: before a file is written, its seal allows what it was and what it will
be; afterwards only the new. A crash in between leaves a file that its seal knows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from evenodds.durable.disk import (
    as_bytes,
    flush_folder,
    make_folder,
    remove_file,
    told,
    told_below,
    write_file,
)
from evenodds.durable.manifest import digest, is_inside, sealed_text
from evenodds.errors import RunError

SEALS = "seals.json"
FORMAT = "evenodds-seals-1"
NOTHING = ""  # the seal of a file that is not there

Known = Mapping[str, list[str]]
"""Name below the folder -> what it may be: one SHA-256, or two of them while it is written."""


def _text(serial: int, files: Known, since: int) -> str:
    return sealed_text({"format": FORMAT, "serial": serial, "since": since, "files": files})


def sha256(data: bytes | str) -> str:
    """Of what `write_file` would write."""
    return hashlib.sha256(as_bytes(data)).hexdigest()


class Read(NamedTuple):
    """serial: how often the seals were written. files: see `Known`.

    since: which writing of them it was that took the files as they were; 0 where none did.
    """

    serial: int
    files: dict[str, list[str]]
    since: int


@dataclass(frozen=True)
class Fault:
    """name: of the file, below the folder. what: is wrong with it."""

    name: str
    what: str
    missing: bool = False


@dataclass(frozen=True)
class Seals:
    """The seals of a folder. Every call reads them from the disk and leaves them there."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / SEALS

    def read(self) -> Read | None:
        """What they say; None where there are none.

        Raises `RunError` where they cannot be read, or are not as they were written.
        """
        if not self.path.is_symlink() and not self.path.exists():
            return None
        with told_below(self.folder):  # what cannot be read now is no damage
            data = self.path.read_bytes()
        with suppress(ValueError, RecursionError, KeyError, TypeError, AttributeError):
            found: Any = json.loads(data)
            read = Read(index(found["serial"]), found["files"], index(found["since"]))
            if all(map(is_inside, read.files)) and data == _text(*read).encode():
                return read
        raise RunError(
            f"{str(self.path)!r} is damaged. Restore it; or remove it, and the records of the run "
            "are taken as they are."
        )

    @property
    def serial(self) -> int:
        found = self.read()
        return 0 if found is None else found.serial

    def write(self, contents: Mapping[Path, bytes | str]) -> None:
        """Write files below the folder, in order; each is sealed before and after."""
        if not contents:
            return
        new = {self._name(path): sha256(data) for path, data in contents.items()}
        before = self.known()
        self._save({**before, **{n: [*self._now(before, n), seal] for n, seal in new.items()}})
        for path, data in contents.items():
            make_folder(path.parent)
            write_file(path, data)
        self._save({**self.known(), **{name: [seal] for name, seal in new.items()}})

    def remove(self, paths: Iterable[Path]) -> None:
        """Remove files below the folder, and their seals."""
        gone = {self._name(path): path for path in paths}
        before = self.known()
        if not gone.keys() & before.keys() and not any(path.exists() for path in gone.values()):
            return
        self._save({**before, **{name: [*self._now(before, name), NOTHING] for name in gone}})
        for path in gone.values():
            remove_file(path)
        for parent in {path.parent for path in gone.values() if path.parent.is_dir()}:
            with told(parent):
                flush_folder(parent)
        self.forget(gone)

    def forget(self, names: Iterable[str]) -> None:
        """Take files out of the seals, and leave them where they are."""
        names = set(names)
        self._save({name: seal for name, seal in self.known().items() if name not in names})

    def adopt(self, paths: Iterable[Path], after: int) -> None:
        """Seal files as they are, where there are no seals. after: the last that is known of them,
        so that what was saved before is seen to be older.
        """
        there = {self._name(path): [digest(path)] for path in paths if path.is_file()}
        write_file(self.path, _text(after + 1, there, after + 1))

    def faults(self) -> Iterator[Fault]:
        """What is not as it was written, file by file."""
        for name, known in self.known().items():
            if fault := self.fault(name, known):
                yield fault

    def fault(self, name: str, known: list[str] | None = None) -> Fault | None:
        """What is wrong with a file; None where nothing is, or nothing is known of it."""
        known = self.known().get(name, []) if known is None else known
        try:
            seal = self._digest(name)
        except OSError as error:
            return Fault(name, f"cannot be read ({error.strerror})")
        if not known or seal in known:
            return None
        if seal == NOTHING:
            return Fault(name, "is missing", missing=True)
        return Fault(name, "is damaged (its SHA-256 differs)")

    def has(self, path: Path) -> bool:
        """Whether this file is sealed, and as it was written."""
        known = self.known().get(self._name(path), [])
        return bool(known) and self.fault(self._name(path), known) is None

    def known(self) -> dict[str, list[str]]:
        """What each file may be, by its name; of those without a seal nothing."""
        found = self.read()
        return {} if found is None else found.files

    def _now(self, known: Known, name: str) -> list[str]:
        """What a file may be at this moment: as its seal says, or as it lies there unsealed."""
        return known[name] if name in known else [self._digest(name)]

    def _digest(self, name: str) -> str:
        path = self.folder / name
        return digest(path) if path.is_file() else NOTHING

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _save(self, files: Known) -> None:
        unique = {name: sorted(set(seals), key=seals.index) for name, seals in files.items()}
        before = self.read() or Read(0, {}, 0)
        write_file(self.path, _text(before.serial + 1, unique, before.since))
