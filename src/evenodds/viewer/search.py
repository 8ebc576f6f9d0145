"""Search in prompts and answers, file by file, in slices that no page waits long for."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenodds.errors import RunError
from evenodds.records.reader import read_table

SLICE = 0.4  # seconds of one request
REMEMBERED = 4  # texts whose hits stay in memory
COLUMNS = ("prompt", "completion", "extracted", "gold", "problem_key")


@dataclass
class Search:
    """One text, and the groups that hold it in each step that was looked at."""

    text: str
    hits: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def go_on(self, steps: Iterable[int], files: Mapping[int, Path], seconds: float) -> None:
        """Look at steps in this order, those looked at before left out, for about so long.

        Two requests for the same text take turns, so that no file is read twice.
        """
        until = time.monotonic() + seconds
        for step in steps:
            if time.monotonic() > until:
                return
            with self.lock:
                if step not in self.hits:
                    self.hits[step] = groups_with(self.text, files.get(step))

    def looked_at(self, steps: Iterable[int]) -> int:
        return sum(step in self.hits for step in steps)

    def has(self, step: int, group: int) -> bool:
        return group in self.hits.get(step, ())


def groups_with(text: str, path: Path | None) -> frozenset[int]:
    """The groups of a step that have the text in their prompt, gold, key, or an answer.

    Upper and lower case are alike. A damaged or missing file holds nothing.
    """
    if path is None:
        return frozenset()
    try:
        table = read_table(path, ("group", *COLUMNS)).table
    except RunError:
        return frozenset()
    import pyarrow.compute

    compute: Any = pyarrow.compute  # its functions are made at import time and have no types
    found = None
    for name in COLUMNS:
        column = table.column(name)
        here = compute.fill_null(compute.match_substring(column, text, ignore_case=True), False)
        found = here if found is None else compute.or_(found, here)
    return frozenset(compute.unique(table.column("group").filter(found)).to_pylist())


@dataclass
class Searches:
    """The last few texts that were searched for in a run."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    _known: OrderedDict[str, Search] = field(default_factory=OrderedDict[str, Search])

    def of(self, text: str) -> Search:
        key = text.lower()
        with self.lock:
            found = self._known.setdefault(key, Search(text))
            self._known.move_to_end(key)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
            return found
