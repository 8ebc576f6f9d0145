"""What really happens to a disk in the middle of a run: it fills, a limit is met, it fails."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager

from tests.faults import disks
from tests.faults.failpoints import Failpoint, calls
from tests.faults.fingerprint import unlike
from tests.faults.refusals import Tried, fault_of_words, is_changed
from tests.faults.setting import RUN, Setting
from tests.faults.stories import checked, start

REASONS = {  # what happens -> the system's word for it
    "full": "ENOSPC",
    "file size": "EFBIG",
    "open files": "EMFILE",
    "deleted": "ENOENT",
}
SITTINGS = 3  # of a story at most
SIZE = 80 * disks.MB  # the run asks for 64 MB beside its checkpoints before it begins


@contextmanager
def _place(setting: Setting, deed: str, name: str) -> Generator[None]:
    """The place of a story; a small disk where that is to be filled, but for what is said of it."""
    setting.place(name).mkdir()
    beside = setting.place(f"{name}-beside")
    try:
        if deed == "full":
            with disks.memory_disk(setting.place(name), SIZE):
                (setting.place(name) / "acknowledged").symlink_to(beside / "acknowledged")
                for said in (f"said-{turn}" for turn in range(SITTINGS)):
                    (beside / said).mkdir(parents=True)
                    (setting.place(name) / said).symlink_to(beside / said)
                yield
        else:
            yield
    finally:
        setting.remove(name)
        setting.remove(beside.name)


def met(setting: Setting, at: int, deed: str) -> Tried:
    """It happens before a call; what fails then, the system itself refuses. Later all is well."""
    name = f"m{at}-{deed.replace(' ', '-')}"
    run, tally = setting.run(name), setting.root / f"{name}.tally"
    with _place(setting, deed, name):
        ended = start(setting, name, 0, Failpoint(at, deed, run, tally=tally)).wait()
        (setting.place(name) / "ballast").unlink(missing_ok=True)
        written = is_changed(setting, run)
        problem = fault_of_words(ended.code, ended.err, RUN, REASONS[deed], written)
        lost = [] if deed == "deleted" else checked(setting, name)
        problem = problem or "; ".join(lost) or _again(setting, name)
    made = calls(tally)
    tally.unlink()
    return Tried(f"before {made[-1] if made else at}", deed, ended.code, ended.err, problem)


def _again(setting: Setting, name: str) -> str:
    """A folder that was deleted while a library wrote in it may be no run any more, and says so."""
    run = setting.run(name)
    ended = start(setting, name, 1).wait()
    if ended.code == 2 and f"{RUN!r} exists and is no run folder" in ended.err:
        shutil.rmtree(run)
        ended = start(setting, name, 2).wait()
    if ended.code:
        return f"it does not go on: exit {ended.code}: {ended.err}"
    return "; ".join(unlike(run, setting.whole))
