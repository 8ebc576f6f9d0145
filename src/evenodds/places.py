"""Names and places that light rooms and heavy ones share."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

BUNDLED = "abacus"
SMALL = 20_000_000  # parameters up to which all weights are trained when nothing is said


def expanded(name: str) -> Path:
    """A path with `~` as the home folder; one of a user that there is not stays as it is."""
    return Path(os.path.expanduser(name))


def bundled_folder() -> Path:
    """Where the model that comes with the package lies."""
    return Path(str(files("evenodds") / "policies" / BUNDLED))
