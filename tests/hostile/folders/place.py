"""A model folder that is wrong or hostile in one way.

It is a copy of the bundled model that one function changes. `outside` lies beside the folder and
must never be read; `canary` must never be made: it is what code of the folder would write.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenodds.places import bundled_folder


@dataclass(frozen=True)
class Place:
    folder: Path
    outside: Path
    canary: Path

    def change(self, file: str, **values: Any) -> None:
        path = self.folder / file
        known = json.loads(path.read_text()) if path.exists() else {}
        path.unlink(missing_ok=True)
        path.write_text(json.dumps(known | values))

    def drop(self, *files: str) -> None:
        for file in files:
            (self.folder / file).unlink(missing_ok=True)


Change = Callable[[Place], None]
REFUSED: dict[str, Change] = {}
"""One line, exit 2."""
HARMLESS: dict[str, Change] = {}
"""May be loaded: what is hostile in it is never looked at."""
WEIGHTS = "model.safetensors"


def refused(change: Change) -> Change:
    REFUSED[change.__name__.replace("_", " ").strip()] = change
    return change


def harmless(change: Change) -> Change:
    HARMLESS[change.__name__.replace("_", " ").strip()] = change
    return change


def make(root: Path, change: Change) -> Place:
    """The folder, changed, below `root`."""
    place = Place(root / "model", root / "outside", root / "canary")
    shutil.copytree(bundled_folder(), place.folder)
    shutil.copytree(bundled_folder(), place.outside)
    change(place)
    return place


def pickled(place: Place) -> bytes:
    """What runs code where it is unpickled; written by hand, so that nothing here pickles."""
    code = f"open({str(place.canary)!r}, 'w').close()"
    return b"cbuiltins\nexec\n(V" + code.encode() + b"\ntR."
