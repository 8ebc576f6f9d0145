"""R6: a run's files flipped, cut, lengthened, deleted, swapped or put back to an older version.

Each has to be told of by its name before a run goes on from it, or to be undone by taking steps
again. What a resume asks is asked here in this process; some are tried as a command as well.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenodds.durable import MANIFEST, TEMPORARY, Start, valid_folders, verify_folder
from evenodds.errors import EvenoddsError
from evenodds.run import sealed
from evenodds.run.folder import PREFIX, RunFolder
from evenodds.run.saved import read_saved_state
from tests.faults import children
from tests.faults.fingerprint import differences, fingerprint
from tests.faults.moments import Moment
from tests.faults.resume import SMALLER, sitting

DERIVED = {"lock", "report.html", "report.md", "summary.json"}  # made from the rest, at any time
KINDS = ("flip", "truncate", "delete", "extend", "swap", "older")
SETTINGS: dict[str, Any] = {
    **SMALLER,
    "run__save_every": 2,
    "run__keep": 2,
    "evaluation__every": 4,
    "evaluation__every_problems": 1,
}


@dataclass(frozen=True)
class Ground:
    """runs: a finished one, and one that was killed behind step 9. older: its files before."""

    root: Path
    whole: dict[str, Any]
    runs: tuple[Path, ...]
    older: Path


@dataclass(frozen=True)
class Damage:
    """kind: of `KINDS`. file: of the run, by name; other: with which it was swapped."""

    kind: str
    file: str
    other: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.file}{' and ' if self.other else ''}{self.other}"

    @property
    def files(self) -> list[str]:
        return [name for name in (self.file, self.other) if name]


def ground(root: Path) -> Ground:
    for name, steps in (("first", "6"), ("whole", "10")):
        arguments = children.tiny(root, "whole", **SETTINGS | {"run__steps": steps})
        ended = sitting(arguments, root / f"said-{name}", None, 0)
        assert ended.code == 0, ended.err
        if name == "first":
            shutil.copytree(root / "whole", root / "older")
    arguments = children.tiny(root, "killed", **SETTINGS)
    ended = sitting(arguments, root / "said-killed", Moment(10, "sampling", "kill"), 0)
    assert ended.code == -9, ended.err
    runs = (root / "whole", root / "killed")
    return Ground(root, fingerprint(root / "whole"), runs, root / "older")


def files_of(run: Path) -> list[str]:
    found = [path.relative_to(run).as_posix() for path in sorted(run.rglob("*")) if path.is_file()]
    # what a kill left half made goes at the next start, whatever is in it
    left = [name for name in found if any(map(TEMPORARY.fullmatch, Path(name).parts))]
    return [name for name in found if name not in {*DERIVED, *left}]


def damaged(run: Path, older: Path, rng: random.Random) -> Damage | None:
    """Do one thing to one file, each as likely; None where it would change nothing."""
    kind, name = rng.choice(KINDS), rng.choice(files_of(run))
    path = run / name
    data = path.read_bytes()
    if kind == "delete":
        path.unlink()
    elif kind in ("flip", "truncate", "extend"):
        if not data:
            return None
        path.write_bytes(_changed(kind, data, rng))
    elif kind == "swap":
        other = run / rng.choice(files_of(run))
        if other.read_bytes() == data:
            return None
        path.write_bytes(other.read_bytes())
        other.write_bytes(data)
        return Damage(kind, name, other.relative_to(run).as_posix())
    else:
        before = [p for p in _versions(name, run, older) if p.read_bytes() != data]
        if not before:
            return None
        shutil.copyfile(rng.choice(before), path)
    return Damage(kind, name)


def _changed(kind: str, data: bytes, rng: random.Random) -> bytes:
    if kind == "truncate":
        return data[: rng.randrange(len(data))]
    if kind == "extend":
        return data + rng.randbytes(rng.randint(1, 50))
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _versions(name: str, run: Path, older: Path) -> list[Path]:
    """The file as it was before, and the same file of other checkpoints."""
    places = [older / name]
    if found := re.fullmatch(r"checkpoints/step-\d+/(.*)", name):
        places += [*run.glob(f"checkpoints/*/{found[1]}"), *older.glob(f"checkpoints/*/{found[1]}")]
    return [path for path in places if path.is_file()]


def said_of(run: Path) -> tuple[list[str], Path | None]:
    """All that a resume says of this folder, and the checkpoint that it would go on from.

    It reads the newest sound checkpoint alone; here all are read, as they would be in their turn.
    """
    folder, told = RunFolder(run), list[str]()
    if not folder.config.exists():
        return ["config.toml is missing: no run"], None
    try:
        if fault := sealed.config_fault(folder):
            return [fault], None
        faults = sealed.examined(folder, told.append)

        def also(path: Path) -> str:
            return sealed.fault_at(folder, read_saved_state(path), faults)

        good, lines = valid_folders(folder.checkpoints, PREFIX, None, also)
        told += lines
        if good:
            saved = read_saved_state(good[0])
            told.append(sealed.missing_rollouts(folder, saved))
        if folder.evaluation("final").exists():
            verify_folder(folder.model)
    except EvenoddsError as error:
        return [*told, str(error)], None
    return [line for line in told if line], good[0] if good else None


def names_of(damage: Damage) -> list[str]:
    """By which a line may name it; an older manifest is told by a file that it does not fit."""
    folders = [str(Path(name).parent) for name in damage.files if Path(name).name == MANIFEST]
    return [Path(name).name for name in damage.files] + [f"/{folder}/" for folder in folders]


def is_undone(run: Path, damage: Damage, newest: Path) -> bool:
    """Whether taking steps again does away with it: what lies behind the newest checkpoint."""
    saved = read_saved_state(newest)
    starts = saved.progress.logs
    return all(_belongs_later(run, name, saved.step, starts.get(name)) for name in damage.files)


def _belongs_later(run: Path, name: str, step: int, start: Start | None) -> bool:
    if start is not None:
        return (run / name).exists() and (run / name).stat().st_size >= start.length
    found = re.fullmatch(r"(?:rollouts|evaluation)/step-0*(\d+)\.\w+", name)
    return found is not None and int(found[1]) > step


def try_one(place: Ground, number: int, seed: int) -> tuple[Damage, str] | None:
    """`told`, `undone`, or what is amiss; None where nothing was changed."""
    rng = random.Random(f"{seed}/{number}")
    run, copy = place.runs[number % 2], place.root / f"copy-{number}"
    shutil.copytree(run, copy)
    try:
        damage = damaged(copy, place.older, rng)
        if damage is None:
            return None
        told, newest = said_of(copy)
        if any(name in line for line in told for name in names_of(damage)):
            return damage, "told"
        if told:
            return damage, f"told of something else: {told}"
        undone = newest is not None and is_undone(copy, damage, newest)
        return damage, "undone" if undone else "not noticed"
    finally:
        shutil.rmtree(copy)


def try_as_command(place: Ground, number: int, seed: int) -> tuple[Damage, str] | None:
    """The same as a command: told in a line, or the end is that of the run nobody disturbed."""
    rng = random.Random(f"{seed}/{number}")
    copy = place.root / f"command-{number}"
    shutil.copytree(place.runs[number % 2], copy)
    damage = damaged(copy, place.older, rng)
    if damage is None:
        return None
    ended = sitting(["train", "--resume", str(copy)], place.root / f"said-{number}", None, number)
    found = _of_command(place, copy, damage, ended)
    shutil.rmtree(copy)
    return damage, found


def _of_command(place: Ground, copy: Path, damage: Damage, ended: children.Ended) -> str:
    if "Traceback" in ended.err or ended.code not in (0, 1, 2):
        return f"exit {ended.code}: {ended.err[-300:]}"
    told = any(name in ended.err for name in names_of(damage))
    if ended.code:
        named = told or "config.toml" in damage.files  # which may be no TOML any more
        return "told" if named else f"exit {ended.code} names another file: {ended.err[-300:]}"
    parts = set(differences(place.whole, fingerprint(copy)))
    lost = {name.rpartition(".")[0] for name in damage.files if not (copy / name).exists()}
    other = {part for part in parts if not any(name in part for name in lost)} - {"names"}
    # a folder that its manifest does not vouch for is not ours any more: it is set aside, and kept
    other = {part for part in other if ".kept-" not in part}
    if other:
        return f"went on to another end: {sorted(other)}"
    return "told" if told else "undone"


def tried(place: Ground, count: int, seed: int) -> Iterator[tuple[Damage, str]]:
    """So many that changed something."""
    number = done = 0
    while done < count:
        found = try_one(place, number, seed)
        number, done = number + 1, done + (found is not None)
        if found is not None:
            yield found


def amiss(found: Sequence[tuple[Damage, str]]) -> list[str]:
    return [f"{damage}: {what}" for damage, what in found if what not in ("told", "undone")]
