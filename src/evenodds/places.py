"""Names and places that light rooms and heavy ones share."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

BUNDLED = "abacus"
SMALL = 20_000_000  # parameters up to which all weights are trained when nothing is said


def bundled_folder() -> Path:
    """Where the model that comes with the package lies."""
    return Path(str(files("evenodds") / "policies" / BUNDLED))
