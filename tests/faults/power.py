"""Power cuts: what a disk holds when it goes dark at any moment of a real run, and what is saved.

A run is recorded on a disk that writes down what it is told. A cut takes what came before some
moment: all up to the last flush, and of what came after it all, a part, or nothing, also in pieces
of a sector. The file system of that image reads its journal, as after a power cut, and the run
goes on there.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.children import MARK, run, start, tiny
from tests.faults.disks import KINDS, call, fresh, mounted, recorded
from tests.faults.fingerprint import fingerprint, state_of, unlike
from tests.faults.recorder import Told, read
from tests.faults.setting import newest
from tests.faults.sittings import SHORT

SECTOR = 512
EACH = 15  # cuts of one recording
KEPT = (1.0, 1.0, 0.9, 0.5, 0.0)  # shares of the writes since the last flush that got through


def tell_commits() -> None:
    """In the child: note when a folder was promised to be on the disk, and which."""
    from evenodds import durable

    real = durable.commit_folder
    note = os.open(_notes(Path(os.environ[MARK])), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def commit_folder(target: Path, *more: Any, **named: Any) -> Any:
        made = real(target, *more, **named)
        os.write(note, f"{time.monotonic_ns()} {target.name}\n".encode())
        return made

    durable.commit_folder = commit_folder


def forget_to_flush() -> None:
    """In the child: nothing is brought to the disk, as if no line of the product did it."""
    tell_commits()
    os.fsync = lambda fd: None


def _notes(folder: Path) -> Path:
    return folder / "promised"


@dataclass(frozen=True)
class World:
    """root: where policy and problems lie. whole: of the run at which nothing happened."""

    root: Path
    kind: str
    whole: dict[str, Any]
    resumed: dict[str, str]  # state of a folder -> what was wrong with how it went on

    def arguments(self, disk: Path) -> list[str]:
        given = tiny(self.root, "r", **SHORT)
        given[given.index("--run.root") + 1] = str(disk)
        return given


@dataclass(frozen=True)
class Recording:
    """start: the disk before it. promised: when a folder was said to be safe, and which."""

    start: Path
    told: list[Told]
    promised: list[tuple[int, str]]
    began: int
    ended: int

    def moment(self, rng: random.Random) -> int:
        """When the power goes: at any time, or right after the disk was told something.

        Four of five come after the first promise, for before it nothing can be lost; some at the
        very end, when the process has gone and others have used the disk.
        """
        if rng.random() < 0.1:
            return self.ended
        later = min([moment for moment, _ in self.promised if moment], default=self.began)
        begin = later if rng.random() < 0.8 else self.began
        inside = [told.time for told in self.told if begin <= told.time <= self.ended]
        if inside and rng.random() < 0.5:
            return rng.choice(inside)
        return rng.randrange(begin, self.ended)


@dataclass(frozen=True)
class Cut:
    """told: what got through. promised: the folders that must be there. missing: writes lost."""

    told: list[Told]
    promised: list[str]
    missing: int


def world(root: Path, kind: str) -> World:
    ended = run(tiny(root, "undisturbed", **SHORT), root / "said")
    assert ended.code == 0, ended.err
    return World(root, kind, fingerprint(root / "undisturbed"), {})


def empty(of: World, name: str) -> Path:
    image = of.root / name
    fresh(image, of.kind)
    return image


def record(
    of: World,
    begin: Path,
    before: Callable[[], None] = tell_commits,
    earlier: Sequence[str] = (),
) -> Recording:
    """A whole run on that disk, or the rest of one; what was promised earlier still holds."""
    folder, image = begin.with_suffix(".recorded"), begin.with_suffix(".live")
    folder.mkdir()
    call("cp", "--sparse=always", begin, image)
    with recorded(image, folder, KINDS[of.kind].harsh) as disk:
        began = time.monotonic_ns()
        ended = start(of.arguments(disk), folder, before=before).wait()
        assert ended.code == 0, ended.err
        _use(disk)
        until = time.monotonic_ns()
    notes = [line.split() for line in _notes(folder).read_text().splitlines()]
    promised = [(0, name) for name in earlier] + [(int(moment), name) for moment, name in notes]
    told = read(folder / "record")
    image.unlink()
    shutil.rmtree(folder)
    return Recording(begin, told, promised, began, until)


def _use(disk: Path) -> None:
    """Another program brings a file of its own to the disk, and with it the names of all files."""
    with open(disk / "other", "ab") as file:
        file.write(b"something else")
        file.flush()
        os.fsync(file.fileno())


def cut(recording: Recording, rng: random.Random) -> Cut:
    """What there is when the power goes at a random moment."""
    moment = recording.moment(rng)
    before = [told for told in recording.told if told.time <= moment]
    flushed = max((place for place, told in enumerate(before) if told.is_flush), default=0)
    open_writes = before[flushed:]
    share = rng.choice(KEPT)
    got = [
        told if share == 1.0 else _torn(told, rng) for told in open_writes if rng.random() < share
    ]
    promised = [name for when, name in recording.promised if when <= moment]
    return Cut(before[:flushed] + got, promised, len(open_writes) - len(got))


def _torn(told: Told, rng: random.Random) -> Told:
    """A write of which, at times, only the first sectors got through."""
    if rng.random() < 0.8 or len(told.data) <= SECTOR:
        return told
    whole = SECTOR * rng.randrange(1, len(told.data) // SECTOR)
    return Told(told.time, told.offset, told.data[:whole])


def image_after(recording: Recording, made: Cut, image: Path) -> None:
    """The disk as it is when the power comes back."""
    call("cp", "--sparse=always", recording.start, image)
    descriptor = os.open(image, os.O_WRONLY)
    for told in made.told:
        os.pwrite(descriptor, told.data, told.offset)
    os.close(descriptor)


def survived(of: World, image: Path, made: Cut) -> str:
    """What was lost or does not go on; empty where nothing was."""
    point = image.with_suffix(".point")
    try:
        with mounted(image, point) as disk:
            return _lost(disk / "r", made.promised) or _went_on(of, disk)
    finally:
        point.rmdir()


def _lost(folder: Path, promised: list[str]) -> str:
    from evenodds.durable.manifest import fault_of

    steps = [int(name.removeprefix("step-")) for name in promised if name.startswith("step-")]
    found = newest(folder)
    if steps and found < steps[-1]:
        return f"step {steps[-1]} was promised, {found} is there"
    if "model" in promised and (fault := fault_of(folder / "model")):
        return f"the model was promised, and {fault}"
    return ""


def _went_on(of: World, disk: Path) -> str:
    """Of two folders that are the same but for clocks and names one goes on."""
    state = state_of(disk / "r") if (disk / "r").exists() else "nothing"
    if state not in of.resumed:
        of.resumed[state] = goes_on(of, disk)
    return of.resumed[state]


def goes_on(of: World, disk: Path) -> str:
    """The same command again after the power cut: what differs from the undisturbed run."""
    ended = start(of.arguments(disk), disk.with_suffix(".again")).wait()
    shutil.rmtree(disk.with_suffix(".again"))
    if ended.code:
        return f"it does not go on: exit {ended.code}: {ended.err}"
    return "; ".join(unlike(disk / "r", of.whole))


@dataclass(frozen=True)
class Found:
    """problems: of each cut, empty where nothing was lost."""

    problems: list[str]
    recordings: int
    resumed: int
    missing: int  # cuts at which writes did not get through

    @property
    def lost(self) -> list[str]:
        return [problem for problem in self.problems if problem]


def cuts(
    of: World,
    count: int,
    rng: random.Random,
    before: Callable[[], None] = tell_commits,
    until: float = float("inf"),
    chained: bool = True,
) -> Found:
    """So many cuts, or as many as time allows.

    Each recording gives some; with `chained` every second one begins where a cut left the disk.
    """
    problems: list[str] = []
    missing = recordings = 0
    begin, earlier = empty(of, "begin-0"), list[str]()
    while len(problems) < count and (not problems or time.monotonic() < until):
        recording = record(of, begin, before, earlier)
        recordings += 1
        many = [cut(recording, rng) for _ in range(min(EACH, count - len(problems)))]
        for made in many:
            image = of.root / "cut"
            image_after(recording, made, image)
            problems.append(survived(of, image, made))
            missing += made.missing > 0
            image.unlink()
        following = empty(of, f"begin-{recordings}")
        earlier = []
        if chained and recordings % 2:
            image_after(recording, many[0], following)
            earlier = many[0].promised
        begin.unlink()
        begin = following
    return Found(problems, recordings, len(of.resumed), missing)
