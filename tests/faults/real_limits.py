"""What really happens to a disk in the middle of a run: it fills, a limit is met, it fails."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults import disks
from tests.faults.children import start
from tests.faults.failpoints import Failpoint, calls
from tests.faults.refusals import (
    COMMITTED,
    Tried,
    Undisturbed,
    amiss,
    fault_of_words,
    lost,
)

REASONS = {  # what happens -> the system's word for it
    "full": "ENOSPC",
    "file size": "EFBIG",
    "open files": "EMFILE",
    "deleted": "ENOENT",
}
SIZE = 80 * disks.MB  # the run asks for 64 MB beside its checkpoints before it begins


@dataclass(frozen=True)
class Place:
    """Where a run lies whose disk is to be met by something."""

    base: Undisturbed
    root: Path

    @property
    def run(self) -> Path:
        return self.root / "r"

    @property
    def arguments(self) -> list[str]:
        given = self.base.arguments("r")
        given[given.index("--run.root") + 1] = str(self.root)
        return given


@contextmanager
def place(base: Undisturbed, deed: str, name: str) -> Generator[Place]:
    """A folder of its own; a small disk where that is to be filled."""
    root = base.root / name
    root.mkdir()
    try:
        if deed == "full":
            with disks.memory_disk(root, SIZE):
                yield Place(base, root)
        else:
            yield Place(base, root)
    finally:
        shutil.rmtree(root)


def met(base: Undisturbed, at: int, deed: str) -> Tried:
    """It happens before a call; what fails then, the system itself refuses. Later all is well."""
    name = f"m{at}-{deed.replace(' ', '-')}"
    out, tally = base.root / f"{name}.said", base.root / f"{name}.tally"
    with place(base, deed, name) as here:
        point = Failpoint(at, deed, here.run, tally=tally)
        ended = start(here.arguments, out, point).wait()
        made = calls(tally)
        (here.root / "ballast").unlink(missing_ok=True)
        gone = deed == "deleted"
        promised = 0 if gone else made[:at].count(COMMITTED)
        problem = (
            fault_of_words(ended.code, ended.err, here.run, REASONS[deed])
            or lost(here.run, promised)
            or _again(here, out)
        )
    for path in (out, tally):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return Tried(f"before {made[-1] if made else at}", deed, ended.code, ended.err, problem)


def _again(here: Place, out: Path) -> str:
    """A folder that was deleted while a library wrote in it may be no run any more, and says so."""
    ended = start(here.arguments, out).wait()
    if ended.code == 2 and f"{str(here.run)!r} exists and is no run folder" in ended.err:
        shutil.rmtree(here.run)
        ended = start(here.arguments, out).wait()
    if ended.code:
        return f"it does not go on: exit {ended.code}: {ended.err}"
    return amiss(here.run, here.base.whole)
