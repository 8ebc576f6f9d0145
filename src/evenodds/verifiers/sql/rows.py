"""Whether two results are the same rows: as multisets, or in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from evenodds.verifiers.sql.engine import Row
from evenodds.verifiers.sql.functions import Cell

DIGITS = 6
"""Significant digits by which rows with nearly equal numbers are brought side by side."""


def difference(
    found: Sequence[Row], wanted: Sequence[Row], ordered: bool, tolerance: float
) -> str | None:
    """In what the rows differ; None where they are the same."""
    if len(found) != len(wanted):
        return f"it has {len(found)} rows, not {len(wanted)}"
    if found and len(found[0]) != len(wanted[0]):
        return f"it has {len(found[0])} columns, not {len(wanted[0])}"
    if _are_equal(found, wanted, ordered, tolerance):
        return None
    if ordered and _are_equal(found, wanted, False, tolerance):
        return "its rows are in another order"
    return "its rows are others"


def _are_equal(
    found: Sequence[Row], wanted: Sequence[Row], ordered: bool, tolerance: float
) -> bool:
    if not ordered:
        if Counter(found) == Counter(wanted):
            return True
        found, wanted = sorted(found, key=_place), sorted(wanted, key=_place)
    return all(
        _same(a, b, tolerance)
        for left, right in zip(found, wanted, strict=True)
        for a, b in zip(left, right, strict=True)
    )


def _same(a: Cell, b: Cell, tolerance: float) -> bool:
    """1 and 1.0 are the same; a number and a text never are; whole numbers are exact."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return a == b or math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12)
    return type(a) is type(b) and a == b


Place = tuple[int, float, str, bytes]


def _place(row: Row) -> tuple[list[Place], list[Place]]:
    """A key by which rows can be sorted: nearly equal numbers stand side by side."""
    return [_key(cell, DIGITS) for cell in row], [_key(cell, None) for cell in row]


def _key(cell: Cell, digits: int | None) -> Place:
    if cell is None:
        return (0, 0.0, "", b"")
    if isinstance(cell, str):
        return (2, 0.0, cell, b"")
    if isinstance(cell, bytes):
        return (3, 0.0, "", cell)
    return (1, cell if digits is None else float(f"{cell:.{digits}g}"), "", b"")
