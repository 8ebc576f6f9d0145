"""One run that is killed, stopped or broken in some way and taken up again; what was found amiss.

What a run has acknowledged is what its checkpoints have: the commit of a step has returned, and a
line of a file outside of the run says so at that moment. A line on the screen that says "step 3"
tells of progress, and is up to three steps ahead of the disk; one that says "it is saved", and the
folder's name on stdout at the end, are acknowledgements too.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyarrow import parquet

from tests.faults import children
from tests.faults.fingerprint import differences, fingerprint, leftovers

GOES_ON = re.compile(r"going on after step (\d+)\.")
SAVED = re.compile(r"stopped after step (\d+); it is saved")


@dataclass(frozen=True)
class Setting:
    """Where stories are tried. whole: the fingerprint of the run that nobody disturbed.

    seconds: how long that one took, from its start to its end.
    """

    root: Path
    settings: dict[str, Any]
    whole: dict[str, Any]
    seconds: float

    def arguments(self, name: str) -> list[str]:
        return children.tiny(self.root, name, **self.settings)


def undisturbed(root: Path, **settings: Any) -> Setting:
    """A setting, after two runs: the first pays for what is done once, the second is timed."""
    for name in ("first", "whole"):
        ended = children.run(children.tiny(root, name, **settings), root / f"said-{name}")
        assert ended.code == 0, ended.err
    return Setting(root, settings, fingerprint(root / "whole"), ended.seconds)


def note_commits(path: Path, slow: float = 0.0) -> None:
    """In a child: a line for each checkpoint whose commit has returned. slow: seconds a flush."""
    from evenodds.run import checkpoint

    commit, fsync = checkpoint.commit, os.fsync

    def noted(draft: Any, *more: Any) -> Any:
        found = commit(draft, *more)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(descriptor, f"{int(found.name.rpartition('-')[2])}\n".encode())
        os.close(descriptor)
        return found

    def slowly(descriptor: int) -> None:
        time.sleep(slow)
        fsync(descriptor)

    checkpoint.commit = noted
    if slow:
        os.fsync = slowly


def start(
    setting: Setting, name: str, turn: int, failpoint: Any = None, slow: float = 0.0
) -> children.Child:
    """One sitting at the run; what it acknowledges is read by `acknowledged`."""
    before = partial(note_commits, setting.root / f"acknowledged-{name}", slow)
    place = setting.root / f"said-{name}-{turn}"
    return children.start(setting.arguments(name), place, failpoint, before)


def acknowledged(setting: Setting, name: str) -> int:
    """The newest step that any sitting has acknowledged; 0 where none was."""
    path = setting.root / f"acknowledged-{name}"
    lines = path.read_text().splitlines() if path.exists() else []
    said = [
        int(step)
        for err in setting.root.glob(f"said-{name}-*/err")
        for step in SAVED.findall(err.read_text(errors="replace"))
    ]
    return max([0, *map(int, lines), *said])


def unreadable(run: Path) -> list[str]:
    """What a reader would stumble over in a run that was just killed: of it nothing may be torn.

    The last line of a log may be: whoever reads one passes over a line that does not end.
    """
    from evenodds.run.durable import valid_folders

    _, bad = valid_folders(run / "checkpoints", "step-")
    for path in [*run.glob("passports/*.json"), *run.glob("evaluation/*.json")]:
        with suppress(ValueError):
            json.loads(path.read_text())
            continue
        bad.append(str(path))
    for path in run.glob("*.jsonl"):
        bad += [str(path) for line in path.read_bytes().splitlines(True)[:-1] if not _is_row(line)]
    for path in [*run.glob("rollouts/*.parquet"), *run.glob("evaluation/*.parquet")]:
        try:
            parquet.read_table(path)
        except Exception:
            bad.append(str(path))
    return bad


def _is_row(line: bytes) -> bool:
    with suppress(ValueError):
        return isinstance(json.loads(line), dict)
    return False


def checked(setting: Setting, name: str) -> list[str]:
    """After a death: nothing of what is there is torn, and what was acknowledged is there."""
    from evenodds.run.durable import valid_folders

    run = setting.root / name
    amiss = [f"unreadable: {what}" for what in unreadable(run)]
    sound, _ = valid_folders(run / "checkpoints", "step-", 1)
    newest = int(sound[0].name.rpartition("-")[2]) if sound else 0
    if newest < acknowledged(setting, name):
        amiss.append(f"lost: step {acknowledged(setting, name)} was saved, {newest} is left")
    return amiss


def taken_up(setting: Setting, name: str, turn: int = 99) -> list[str]:
    """The same command to its end: it goes on from no earlier step, and ends as the whole one."""
    saved = acknowledged(setting, name)
    ended = start(setting, name, turn).wait(120)
    if ended.code != 0:
        return [f"not resumed: exit {ended.code}, {ended.err.strip().splitlines()[-1:]}"]
    from_step = int((GOES_ON.findall(ended.err) or [0])[0])
    amiss = differences(setting.whole, fingerprint(setting.root / name))
    if from_step < saved and "finished already" not in ended.err:
        amiss.append(f"lost: step {saved} was saved, it went on after {from_step}")
    odd = [line for line in ended.err.splitlines() if "Traceback" in line or "damaged" in line]
    amiss += [f"said: {line}" for line in odd]
    return amiss + [f"left over: {path}" for path in leftovers(setting.root / name)]


Story = Callable[[Setting, str], list[str]]
"""Disturbs the run of that name, takes it up again, and returns what was amiss."""


def killed_at(moments: Sequence[float]) -> Story:
    """Killed so many seconds after each start, one sitting after the other."""

    def story(setting: Setting, name: str) -> list[str]:
        amiss: list[str] = []
        for turn, moment in enumerate(moments):
            child = start(setting, name, turn)
            time.sleep(moment)
            child.kill()
            child.wait()
            amiss += checked(setting, name)
        return amiss + taken_up(setting, name)

    return story


def killed_at_call(number: int, action: str) -> Story:
    """Killed at, or right after, the durable call of that number."""

    def story(setting: Setting, name: str) -> list[str]:
        from tests.faults.failpoints import Failpoint

        point = Failpoint(number, action, setting.root / name)
        start(setting, name, 0, point).wait()
        return checked(setting, name) + taken_up(setting, name)

    return story


def stopped_and_continued(pauses: Sequence[float]) -> Story:
    """SIGSTOP and SIGCONT at these moments, .05 s long; the run notices nothing."""
    import signal

    def story(setting: Setting, name: str) -> list[str]:
        child = start(setting, name, 0)
        for pause in pauses:
            time.sleep(pause)
            child.signal(signal.SIGSTOP)
            time.sleep(0.05)
            child.signal(signal.SIGCONT)
        ended = child.wait()
        amiss = [] if ended.code == 0 else [f"exit {ended.code}: {ended.err[-200:]}"]
        amiss += differences(setting.whole, fingerprint(setting.root / name))
        return amiss + [f"left over: {path}" for path in leftovers(setting.root / name)]

    return story


def signalled(number: int, moment: float, again: float | None = None, slow: float = 0.0) -> Story:
    """Asked to end at a moment; again: seconds until it is asked once more. slow: a flush of it."""

    def story(setting: Setting, name: str) -> list[str]:
        child = start(setting, name, 0, slow=slow)
        time.sleep(moment)
        child.signal(number)
        if again is not None:
            time.sleep(again)
            child.signal(number)
        asked = time.monotonic()
        ended = child.wait(60)
        limit, took = (1.0 if again else 10.0), time.monotonic() - asked
        amiss = [f"slow: it took {took:.1f} s"] if took > limit else []
        amiss += _signal_faults(setting, name, ended, number, again is not None)
        amiss += [f"orphan: {pid}" for pid in _orphans(child)]
        return amiss + checked(setting, name) + taken_up(setting, name)

    return story


def _signal_faults(
    setting: Setting, name: str, ended: children.Ended, number: int, at_once: bool
) -> list[str]:
    """What is wrong with an end by signal, or with one that came first by itself."""
    from evenodds.run.durable import valid_folders

    run = setting.root / name
    amiss = [f"said: {ended.err[-300:]}"] if "Traceback" in ended.err else []
    if "terminate called" in ended.err:
        amiss.append("terminate called")
    # 1: between the fork and our first line, where Python's own handler is the one that raises
    before_ours = ended.code in (-number, 1) and not ended.err and not run.exists()
    if ended.code not in (0, 128 + number) and not before_ours:
        amiss.append(f"exit {ended.code}: {ended.err[-300:]}")
    if ended.code == 128 + number and not at_once:
        told = [int(step) for step in SAVED.findall(ended.err)]
        sound, _ = valid_folders(run / "checkpoints", "step-", 1)
        newest = [int(folder.name.rpartition("-")[2]) for folder in sound]
        done = _completed(run)
        if told and (newest != told or max(done, default=0) > told[0]):
            amiss.append(f"lost: told {told}, on the disk {newest}, rollouts of {done}")
    return amiss


def _completed(run: Path) -> list[int]:
    """The steps whose rollouts are written, which is what a step that is done begins with."""
    return [int(path.stem.rpartition("-")[2]) for path in run.glob("rollouts/step-*.parquet")]


def _orphans(child: children.Child) -> list[int]:
    """Processes of a child that are there a while after its end."""
    until = time.monotonic() + 2
    while (found := children.alive(child.mark)) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def tell(story: Story, setting: Setting, name: str) -> list[str]:
    """The story, and then the run is removed: hundreds of them would fill a disk."""
    import shutil

    amiss = story(setting, name)
    if not amiss:
        beside = [*setting.root.glob(f"*-{name}"), *setting.root.glob(f"*-{name}-*")]
        for path in [setting.root / name, *beside]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    return amiss
