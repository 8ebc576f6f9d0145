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
from functools import cache, partial
from pathlib import Path
from typing import Any

from pyarrow import parquet

from evenodds.durable import numbered
from evenodds.durable.manifest import fault_of
from evenodds.run.folder import PREFIX, step_behind
from tests.faults import children
from tests.faults.fingerprint import state_of, unlike
from tests.faults.setting import RUN, Setting, newest

GOES_ON = re.compile(r"going on after step (\d+)\.")
SAVED = re.compile(r"stopped after step (\d+); it is saved")


def note_commits(path: Path, slow: float = 0.0) -> None:
    """In a child: a line for each checkpoint whose commit has returned. slow: seconds a flush."""
    from evenodds import durable

    commit, fsync = durable.commit_folder, os.fsync

    def noted(target: Path, *more: Any, **named: Any) -> None:
        commit(target, *more, **named)
        if target.name.startswith(PREFIX):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.write(descriptor, f"{step_behind(target)}\n".encode())
            os.close(descriptor)

    def slowly(descriptor: int) -> None:
        time.sleep(slow)
        fsync(descriptor)

    durable.commit_folder = noted
    if slow:
        os.fsync = slowly


def start(
    setting: Setting,
    name: str,
    turn: int,
    failpoint: Any = None,
    slow: float = 0.0,
    last: Callable[[], None] | None = None,
) -> children.Child:
    """One sitting at the run; what it acknowledges is read by `acknowledged`.

    last: what the child does right before it begins.
    """
    place = setting.begin(name)
    before = partial(_prepared, setting.before, place / "acknowledged", slow, last)
    return children.start(setting.arguments, place / f"said-{turn}", failpoint, before, place)


def _prepared(
    before: Callable[[], None] | None, noted: Path, slow: float, last: Callable[[], None] | None
) -> None:
    if before is not None:
        before()
    note_commits(noted, slow)
    if last is not None:
        last()


def acknowledged(setting: Setting, name: str) -> int:
    """The newest step that any sitting has acknowledged, or was there before; 0 without one."""
    path = setting.place(name) / "acknowledged"
    lines = path.read_text().splitlines() if path.exists() else []
    said = [
        int(step)
        for err in setting.place(name).glob("said-*/err")
        for step in SAVED.findall(err.read_text(errors="replace"))
    ]
    return max([setting.saved, *map(int, lines), *said])


def unreadable(run: Path) -> list[str]:
    """What a reader would stumble over in a run that was just killed: of it nothing may be torn.

    The last line of a log may be: whoever reads one passes over a line that does not end.
    """
    bad = [fault_of(path) for path in numbered(run / "checkpoints", PREFIX)]
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
    return [what.replace(str(run), RUN) for what in bad if what]


@cache
def _unreadable_before(begins: Path | None) -> list[str]:
    return unreadable(begins) if begins else []


def _is_row(line: bytes) -> bool:
    with suppress(ValueError):
        return isinstance(json.loads(line), dict)
    return False


def checked(setting: Setting, name: str) -> list[str]:
    """After a death: nothing of what is there is torn, and what was acknowledged is there."""
    run = setting.run(name)
    bad = [what for what in unreadable(run) if what not in _unreadable_before(setting.begins)]
    amiss = [f"unreadable: {what}" for what in bad]
    if newest(run) < acknowledged(setting, name):
        amiss.append(f"lost: step {acknowledged(setting, name)} was saved, {newest(run)} is left")
    return amiss


def taken_up(setting: Setting, name: str, turn: int = 99) -> list[str]:
    """The same command to its end: it goes on from no earlier step, and ends as the whole one."""
    saved = acknowledged(setting, name)
    ended = start(setting, name, turn).wait(120)
    if ended.code != 0:
        return [f"not resumed: exit {ended.code}, {ended.err.strip().splitlines()[-1:]}"]
    from_step = int((GOES_ON.findall(ended.err) or [0])[0])
    amiss = unlike(setting.run(name), setting.whole)
    if from_step < saved and "finished already" not in ended.err:
        amiss.append(f"lost: step {saved} was saved, it went on after {from_step}")
    odd = [line for line in ended.err.splitlines() if "Traceback" in line or "damaged" in line]
    return amiss + [f"said: {line}" for line in odd if line not in setting.told]


def went_on(setting: Setting, name: str) -> list[str]:
    """As `checked` and `taken_up`; of folders that are the same but for clocks and names one is
    enough.
    """
    state = f"{state_of(setting.run(name))} {acknowledged(setting, name)}"
    if state not in setting.resumed:
        setting.resumed[state] = checked(setting, name) + taken_up(setting, name)
    return setting.resumed[state]


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

        point = Failpoint(number, action, setting.run(name))
        start(setting, name, 0, point).wait()
        return went_on(setting, name)

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
        return amiss + unlike(setting.run(name), setting.whole)

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
    run = setting.run(name)
    amiss = [f"said: {ended.err[-300:]}"] if "Traceback" in ended.err else []
    if "terminate called" in ended.err:
        amiss.append("terminate called")
    # 1: between the fork and our first line, where Python's own handler is the one that raises
    before_ours = ended.code in (-number, 1) and not ended.err and not run.exists()
    if ended.code not in (0, 128 + number) and not before_ours:
        amiss.append(f"exit {ended.code}: {ended.err[-300:]}")
    if ended.code == 128 + number and not at_once:
        told = [int(step) for step in SAVED.findall(ended.err)]
        done, there = _completed(run), newest(run)
        if told and (there != told[0] or max(done, default=0) > told[0]):
            amiss.append(f"lost: told {told}, on the disk {there}, rollouts of {done}")
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
    amiss = story(setting, name)
    if not amiss:
        setting.remove(name)
    return amiss
