"""One figure of the contract: what is asked, what was found, and whether it holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """id: of the contract, such as R3. asked and found: in words with figures.

    skipped: why it could not be tried here; such a row neither holds nor is missed.
    """

    id: str
    asked: str
    found: str
    holds: bool = True
    skipped: str = ""

    @property
    def verdict(self) -> str:
        if self.skipped:
            return "skipped"
        return "holds" if self.holds else "MISSED"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict}


def text(row: Row) -> str:
    """Three short lines, as a person reads them."""
    found = f"{row.found} ({row.skipped})" if row.skipped else row.found
    return f"{row.id:<4} {row.verdict}\n     asked: {row.asked}\n     found: {found}"
