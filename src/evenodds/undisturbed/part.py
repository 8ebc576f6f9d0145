"""Something of the process that code may change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Part:
    """name: as a person calls it. read: its value now. write: gives it such a value back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
