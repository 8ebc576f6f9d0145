"""A run as the pages see it: followed on the disk, never written to, never locked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenodds.report.record import RunRecord, read_run
from evenodds.viewer.follow import Lines, Seen, seen, step_of
from evenodds.viewer.table import Groups, from_line, joined

Row = Mapping[str, Any]
Table = Any  # of pyarrow, which has no types
KEPT_STEPS = 6  # steps whose rollouts stay in memory


@dataclass
class Source:
    """One run folder. Any thread may ask; `refresh` looks at the disk, the rest answers from it."""

    folder: Path
    lock: threading.RLock = field(default_factory=threading.RLock)
    _metrics: Lines = field(init=False)
    _groups: Lines = field(init=False)
    _alarms: Lines = field(init=False)
    _tables: OrderedDict[int, tuple[Seen, Table]] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self._metrics = Lines(self.folder / "metrics.jsonl")
        self._groups = Lines(self.folder / "groups.jsonl")
        self._alarms = Lines(self.folder / "alarms.jsonl")

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    def record(self) -> RunRecord:
        """Config, passports, metrics and evaluations, as of now."""
        return read_run(self.folder)

    def groups(self) -> Groups:
        """Every group of the run that is known so far."""
        with self.lock:
            self._groups.refresh()
            steps = {step_of(row): row for row in self._groups.rows}
            blocks = [from_line(steps[step]) for step in sorted(filter(None, steps))]
        return joined([block for block in blocks if block is not None])

    def alarms(self) -> list[Row]:
        with self.lock:
            self._alarms.refresh()
            return list(self._alarms.rows)

    def rollout_file(self, step: int) -> Path:
        return self.folder / "rollouts" / f"step-{step:05d}.parquet"

    def step_table(self, step: int) -> Table | None:
        """All rollouts of a step as an arrow table; None where there are none, or no whole file."""
        path = self.rollout_file(step)
        now = seen(path)
        with self.lock:
            known = self._tables.get(step)
            if known is not None and known[0] == now:
                self._tables.move_to_end(step)
                return known[1]
        table = read_table(path)
        with self.lock:
            if table is not None:
                self._tables[step] = (now, table)
            while len(self._tables) > KEPT_STEPS:
                self._tables.popitem(last=False)
        return table

    def step_rows(self, step: int) -> list[Row]:
        """All rollouts of a step, a dict a rollout with the columns of docs/run-folder.md.

        Empty where the step has none. Columns that an older run lacks are absent.
        """
        table = self.step_table(step)
        return [] if table is None else table.to_pylist()

    def group(self, step: int, group: int) -> list[Row]:
        """The rollouts of one group, in the order of `answer`; empty where there is no such group."""
        table = self.step_table(step)
        if table is None or "group" not in table.schema.names:
            return []
        import pyarrow.compute as compute

        rows: list[Row] = table.filter(compute.equal(table["group"], group)).to_pylist()
        return sorted(rows, key=lambda row: row.get("answer") or 0)


def read_table(path: Path, columns: list[str] | None = None) -> Table | None:
    """A parquet file, or None where it is missing, half-written or damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
        kept = [name for name in columns if name in names] if columns else None
        return file.read(columns=kept, use_threads=False)
    except (OSError, pa.ArrowException):
        return None
