"""A run that nobody disturbed, and where others are told that are: the same command, and folders.

Each story has a place of its own, in which the run lies under the same relative name. So folders of
two stories differ by nothing but what was done to them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from evenodds.durable import valid_folders
from evenodds.run.folder import PREFIX, step_behind
from tests.faults import children
from tests.faults.failpoints import Failpoint, calls
from tests.faults.fingerprint import fingerprint

RUN = "r"  # the name of every run
MOST = 300.0  # seconds for a sitting, which has one where a machine is quiet
WHOLE = "whole"  # the place of the one that nobody disturbed


@dataclass(frozen=True)
class Setting:
    """What all stories about one sitting have in common.

    whole: the fingerprint of the run that nobody disturbed. seconds: how long it took. calls: those
    with which it changed its folder. begins: a run of which each story takes a copy, where the
    sitting is a later one. before: what a child does first. resumed: what a folder holds -> what
    was amiss when it was taken up.
    """

    root: Path
    settings: Mapping[str, Any]
    whole: dict[str, Any]
    seconds: float = 0.0
    calls: tuple[str, ...] = ()
    begins: Path | None = None
    before: Callable[[], None] | None = None
    resumed: dict[str, list[str]] = field(default_factory=dict)

    @property
    def arguments(self) -> list[str]:
        """The command, for a process whose folder is a story's place."""
        return arguments_of(self.root, self.settings)

    @cached_property
    def saved(self) -> int:
        """The newest step that a story begins from."""
        return newest(self.begins) if self.begins else 0

    @cached_property
    def told(self) -> frozenset[str]:
        """The lines that the undisturbed sitting said."""
        return frozenset((self.root / WHOLE / "said-0" / "err").read_text().splitlines())

    def place(self, name: str) -> Path:
        return self.root / name

    def run(self, name: str) -> Path:
        return self.place(name) / RUN

    def begin(self, name: str) -> Path:
        """The place of a story, with the run that it begins from; left alone where it is there."""
        return begun(self.place(name), self.begins)

    def remove(self, name: str) -> None:
        shutil.rmtree(self.place(name), ignore_errors=True)


def arguments_of(root: Path, settings: Mapping[str, Any]) -> list[str]:
    given = children.tiny(root, RUN, **settings)
    given[given.index("--run.root") + 1] = "."
    return given


def begun(place: Path, begins: Path | None) -> Path:
    if not place.exists():
        place.mkdir(parents=True)
        if begins is not None:
            shutil.copytree(begins, place / RUN)
    return place


def undisturbed(
    root: Path,
    begins: Path | None = None,
    before: Callable[[], None] | None = None,
    once: bool = False,
    **settings: Any,
) -> Setting:
    """A setting, after its sitting has come to its end.

    once: its seconds are of no interest. Else it is done twice, for the first sitting of all pays
    for what is done once.
    """
    for turn in (WHOLE,) if once else ("warm", WHOLE):
        place, tally = begun(root / turn, begins), root / turn / "tally"
        count = Failpoint(0, "count", place / RUN, tally=tally)
        command = arguments_of(root, settings)
        ended = children.start(command, place / "said-0", count, before, place).wait(MOST)
        assert ended.code == 0, ended.err
    found = fingerprint(root / WHOLE / RUN)
    made = tuple(calls(root / WHOLE / "tally"))
    return Setting(root, settings, found, ended.seconds, made, begins, before)


def newest(run: Path) -> int:
    """The number of the newest sound checkpoint; 0 without one."""
    sound, _ = valid_folders(run / "checkpoints", PREFIX, 1)
    return step_behind(sound[0]) if sound else 0
