"""Why an answer does not stand although it was found: what all who look around it answer with."""

from __future__ import annotations

import re
from typing import NamedTuple

from evenodds.domain import Status

_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")


class Objection(NamedTuple):
    """Why an answer does not stand, and whether for being one of several."""

    note: str
    is_several: bool = False

    @property
    def status(self) -> Status:
        return Status.SEVERAL_ANSWERS if self.is_several else Status.WRONG


def reordered(text: str) -> Objection | None:
    """The objection to marks of direction, for a reader sees other digits than stand there."""
    found = _DIRECTION.search(text)
    return Objection("direction marks reorder its characters") if found else None
