"""A file that is written row by row and is there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from evenodds.durable import temporary, told


@contextmanager
def whole_file(path: Path) -> Generator[TextIO]:
    """Write under a temporary name beside `path`; at the end it takes the place of `path`.

    Whatever goes wrong, `path` is as it was, and nothing is left beside it. A link stays, and what
    it leads to is replaced; a file that was there keeps its permissions. A device or a pipe, such
    as /dev/null, has no place that a file could take: it is written to as it is. Raises `RunError`
    in one line where the system refuses.
    """
    with told(path):
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            with open(path, "w", encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        beside = temporary(target.parent)
        try:
            with open(beside, "x", encoding="utf-8", newline="\n") as file:
                if target.is_file():
                    shutil.copymode(target, beside)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        except BaseException:
            with suppress(OSError):  # why it could not be written is what counts
                beside.unlink(missing_ok=True)
            raise
