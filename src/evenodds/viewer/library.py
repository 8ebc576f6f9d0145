"""The runs that the pages can show: the one that was named, and those beside it."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from evenodds.records.plain import require_plain
from evenodds.viewer.data import Source

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
OTHERS = 3  # other runs than the named one that stay in memory
MOST = 1000  # runs that are listed


@dataclass
class Library:
    """The named run, and the others of its folder by name. A name from an address is only ever
    compared with the names that are there."""

    main: Source
    lock: threading.Lock = field(default_factory=threading.Lock)
    _others: OrderedDict[str, Source] = field(default_factory=OrderedDict)

    def names(self) -> list[str]:
        """All runs below the same root, newest first."""
        root = self.main.folder.resolve().parent
        try:
            found = [config.parent for config in root.glob("*/config.toml")]
            dated = sorted(((path.stat().st_mtime, path.name) for path in found), reverse=True)
        except OSError:
            return []
        return [name for _, name in dated if NAME.fullmatch(name)][:MOST]

    def source(self, name: str | None) -> Source | None:
        """The run of that name, the named one for None; None where there is no such run.

        Raises `UsageError` for one that no command would open either.
        """
        if name is None:
            return self.main
        if name not in self.names():
            return None
        with self.lock:
            root = self.main.folder.resolve().parent
            if name not in self._others:
                require_plain(root / name)
            found = self._others.setdefault(name, Source(root / name))
            self._others.move_to_end(name)
            while len(self._others) > OTHERS:
                self._others.popitem(last=False)
            return found
