"""A file that is written row by row and is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from evenodds.run.durable import told


@contextmanager
def whole_file(path: Path) -> Generator[TextIO]:
    """Write under a temporary name beside `path`; at the end it takes the place of `path`.

    Whatever goes wrong, `path` is as it was, and nothing is left beside it. Raises `RunError` in
    one line where the system refuses.
    """
    temporary = path.parent / f".evenodds-tmp-{os.getpid()}-{secrets.token_hex(4)}"
    with told(path):
        try:
            with open(temporary, "x", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
