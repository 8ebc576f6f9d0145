"""The alarms of a run while it goes on: folded over its rows, told at once, written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evenodds.alarms import Alarm, Facts, Row, Watch, make_watch
from evenodds.durable import write_file
from evenodds.records.lines import object_in, rows_of, step_of
from evenodds.run.config import Config


def watch_of(config: Config) -> Watch:
    """What is looked for. Raises `UsageError` for an unknown alarm; see `make_watch`."""
    facts = Facts(
        group_size=config.sampling.group_size,
        max_tokens=config.sampling.max_tokens,
        max_grad_norm=config.learner.max_grad_norm,
        passes=config.learner.passes,
    )
    section = config.alarms
    return make_watch(facts, section.off, section.stop, section.thresholds)


@dataclass
class Lookout:
    """watch: what was seen so far. tell: where a person reads a line at once."""

    watch: Watch
    tell: Callable[[str], None]

    def observe(self, row: Row) -> list[Alarm]:
        """The alarms that begin with this row; each is told."""
        self.watch, begun = self.watch.observe(row)
        for alarm in begun:
            self.tell(str(alarm))
        return begun

    def resume(self, metrics: Path) -> None:
        """What the rows so far have shown. Nothing is told again."""
        self.watch = self.watch.folded(rows_of(metrics))

    @property
    def stopping(self) -> Alarm | None:
        """The alarm that ends the run, where one is on."""
        return self.watch.stopping


def drop_after(path: Path, step: int) -> None:
    """Remove the alarms of steps that a resumed run takes again.

    A line that stays keeps its bytes: checkpoints know the file by the SHA-256 of its beginning.
    """
    if not path.exists():
        return
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if (row := object_in(line)) and (step_of(row) or 0) <= step]
    if kept != lines:
        write_file(path, b"".join(kept))
