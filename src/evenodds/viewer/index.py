"""What groups.jsonl would say of an older run, counted in its rollouts beside the pages.

The result stays in memory: nothing is ever written into a run folder.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evenodds.errors import RunError
from evenodds.records.groups import rebuilt_line
from evenodds.viewer.table import Groups, from_line


@dataclass
class Index:
    """Groups by step, filled by one background thread at a time. done of total: how far it is."""

    blocks: dict[int, Groups] = field(default_factory=dict[int, Groups])
    tried: set[int] = field(default_factory=set[int])
    total: int = 0
    damaged: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    thread: threading.Thread | None = None

    @property
    def done(self) -> int:
        return len(self.tried)

    @property
    def is_busy(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def want(self, files: Mapping[int, Path]) -> None:
        """See to it that these steps will be known. Returns at once."""
        with self.lock:
            missing = {step: path for step, path in files.items() if step not in self.tried}
            if not missing or self.is_busy:
                return
            self.total = len(self.tried) + len(missing)
            self.thread = threading.Thread(target=self._fill, args=(missing,), daemon=True)
            self.thread.start()

    def _fill(self, files: Mapping[int, Path]) -> None:
        for step in sorted(files, reverse=True):  # the newest first: that is what is looked at
            block = _block(step, files[step])
            with self.lock:
                self.tried.add(step)
                self.damaged += block is None
                if block is not None:
                    self.blocks[step] = block


def _block(step: int, path: Path) -> Groups | None:
    try:
        return from_line(rebuilt_line(step, path))
    except RunError:
        return None
