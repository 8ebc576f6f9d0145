"""A run as the pages see it: followed on the disk, never written to, never locked."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from evenodds.records.follow import NOWHERE, Lines, Seen, seen
from evenodds.records.lines import step_of
from evenodds.records.reader import read_rows, rollout_files
from evenodds.report.pictures import Picture
from evenodds.report.record import RunRecord, read_frame
from evenodds.viewer.compared import Compared, Learned
from evenodds.viewer.curves import curves
from evenodds.viewer.index import Index
from evenodds.viewer.search import Searches
from evenodds.viewer.state import State, state_of
from evenodds.viewer.table import Groups, from_lines, joined

Row = Mapping[str, Any]
WATCHED = (
    *("config.toml", "lock", "evaluation", "passports", "summary.json", "rollouts"),
    *("evaluation/base.json", "evaluation/final.json"),
)


@dataclass
class Source:
    """One run folder. Any thread may ask; each question looks at what changed on the disk."""

    folder: Path
    lock: threading.RLock = field(default_factory=threading.RLock)
    index: Index = field(default_factory=Index)
    searches: Searches = field(default_factory=Searches)
    compared: Compared = field(default_factory=Compared)
    _steps: dict[int, Row] = field(default_factory=dict[int, Row])
    _fresh: dict[int, Row] = field(default_factory=dict[int, Row])
    _blocks: dict[int, Groups] = field(default_factory=dict[int, Groups])
    _alarms: list[Row] = field(default_factory=list[Row])
    _files: tuple[Seen, dict[int, Path]] = (NOWHERE, {})
    _known: tuple[str, RunRecord] | None = None
    _rows: tuple[Seen, list[dict[str, Any]]] = (NOWHERE, [])
    _table: tuple[object, Groups] | None = None
    _drawn: tuple[object, list[Picture]] | None = None

    def __post_init__(self) -> None:
        self._lines = (
            Lines(self.folder / "metrics.jsonl", self._take_step, self._steps.clear),
            Lines(self.folder / "groups.jsonl", self._take_groups, self._forget_groups),
            Lines(self.folder / "alarms.jsonl", self._alarms.append, self._alarms.clear),
        )

    def _take_step(self, row: Row) -> None:
        step = step_of(row)
        if step is not None:
            self._steps[step] = row

    def _take_groups(self, row: Row) -> None:
        step = step_of(row)
        if step is not None:
            self._fresh[step] = row

    def _forget_groups(self) -> None:
        self._fresh.clear()
        self._blocks.clear()

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def damaged(self) -> Mapping[str, int]:
        """Lines that could not be read, by file."""
        return {lines.path.name: lines.damaged for lines in self._lines if lines.damaged}

    def refresh(self) -> str:
        """Read what was added; returns a short word that changes whenever anything did."""
        with self.lock:
            for lines in self._lines:
                lines.refresh()
            parts = [lines.seen for lines in self._lines]
            parts += [seen(self.folder / name) for name in WATCHED]
            known = (parts, self.index.done, self.compared.word)
            return hashlib.sha256(repr(known).encode()).hexdigest()[:24]

    def record(self) -> RunRecord:
        """Config, passports, metrics and evaluations, as of now. Raises `UsageError`: no run."""
        with self.lock:
            self.refresh()
            settled = repr([seen(self.folder / name) for name in WATCHED])
            if self._known is None or self._known[0] != settled:
                self._known = (settled, read_frame(self.folder))
            if self._rows[0] != self._lines[0].seen:
                rows = [cast(dict[str, Any], self._steps[step]) for step in sorted(self._steps)]
                self._rows = (self._lines[0].seen, rows)
            return replace(self._known[1], metrics=self._rows[1])

    def state(self) -> State:
        return state_of(self.record())

    def pictures(self) -> list[Picture]:
        """The curves of the overview, drawn anew when there is a step more."""
        with self.lock:
            run = self.record()
            known = (self._lines[0].seen, self._known and self._known[0])
            if self._drawn is None or self._drawn[0] != known:
                self._drawn = (known, curves(run))
            return self._drawn[1]

    def learned(self) -> Learned:
        """The conclusion and the comparison of base and trained, as far as they are known."""
        files = [self.folder / "evaluation" / f"{name}.json" for name in ("base", "final")]
        return self.compared.ask(self.record(), repr([seen(path) for path in files]))

    def alarms(self) -> list[Row]:
        """What alarms.jsonl says, in its order."""
        with self.lock:
            self.refresh()
            return list(self._alarms)

    def files(self) -> dict[int, Path]:
        """The rollout files by step, in order."""
        with self.lock:
            now = seen(self.folder / "rollouts")
            if self._files[0] != now or now == NOWHERE:
                self._files = (now, rollout_files(self.folder))
            return self._files[1]

    def groups(self) -> Groups:
        """Every group that is known so far. Those of older steps are counted in the background."""
        with self.lock:
            self.refresh()
            self._blocks |= from_lines(self._fresh)
            self._fresh.clear()
            newest = max(self._blocks, default=-1)
            unknown = {
                step: path
                for step, path in self.files().items()
                if step not in self._blocks and (step < newest or not self._blocks)
            }
            self.index.want(unknown)
            known = (self._lines[1].seen, self.index.done)
            if self._table is None or self._table[0] != known:
                with self.index.lock:
                    found = {s: b for s, b in self.index.blocks.items() if s in unknown}
                blocks = found | self._blocks
                self._table = (known, joined([blocks[step] for step in sorted(blocks)]))
            return self._table[1]

    def group(self, step: int, group: int) -> list[dict[str, Any]]:
        """The rollouts of one group in the order of `answer`; empty where there is no such group.

        Each is a dict with the columns of docs/run-folder.md. Raises `RunError` where the step's
        file is damaged.
        """
        path = self.files().get(step)
        return [] if path is None else read_rows(path, group=group)
