"""A run folder as a run makes one: files of its own, and nothing that waits or leads elsewhere."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from evenodds.errors import UsageError
from evenodds.machine import size_text

ELSEWHERE = "checkpoints"  # the one folder of a run that may be a link, to a larger disk

MOST = {".toml": 1 << 20, ".json": 128 << 20}  # bytes; a run of 100,000 problems has half of that


def require_plain(run: Path) -> None:
    """Raise `UsageError` for what no run makes and who reads or writes it would regret.

    A pipe or a device would be waited for without end. A link out of the run, in a folder of a
    stranger, would show a file of this person's in a page that is passed on; and a run that goes
    on would add its lines to it: to ~/.bashrc, say.
    """
    home = run.resolve()
    for place, folders, files in os.walk(run):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink() and path != run / ELSEWHERE:
                _require_inside(path, home)
        for name in files:
            path = Path(place, name)
            with suppress(OSError):  # a link that leads nowhere is as good as no file
                found = path.stat()
                if not S_ISREG(found.st_mode):
                    raise UsageError(
                        f"{str(path)!r} is a device or a pipe, which no run makes. Remove it."
                    )
                if found.st_size > MOST.get(path.suffix, found.st_size):
                    raise UsageError(
                        f"{str(path)!r} has {size_text(found.st_size)}, where a run writes at most "
                        f"{size_text(MOST[path.suffix])}. Remove it."
                    )


def _require_inside(path: Path, home: Path) -> None:
    with suppress(OSError, RuntimeError):  # a link to itself leads nowhere
        if not path.resolve().is_relative_to(home):
            raise UsageError(
                f"{str(path)!r} is a link out of the run, which no run makes. "
                "Put the file itself there, or remove it."
            )
