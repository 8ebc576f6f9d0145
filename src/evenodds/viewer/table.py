"""All groups of a run in columns: small in memory, and quick to filter and sort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
UNKNOWN = -1  # a count that was not taken
COUNTS = ("size", "judged", "right", "truncated", "duplicates", "disagree", "tokens", "round")
KINDS = ("mixed", "right", "wrong", "unjudged")
TYPES: dict[str, Any] = {
    **dict.fromkeys(("step", "group", "level", *COUNTS), np.int32),
    "reward": np.float32,
    "mixed": np.bool_,
    "key": object,
}


@dataclass(frozen=True)
class Groups:
    """One entry a group, in the order of steps and of groups within a step.

    columns: step, group, level and `COUNTS` (int32, -1 where not counted), reward (float32, mean
    over judged answers), mixed (bool: it taught), key (str). All have the same length.
    """

    columns: Mapping[str, Values]

    def __len__(self) -> int:
        return int(self.columns["step"].size)

    def __getitem__(self, name: str) -> Values:
        return self.columns[name]

    def kind(self) -> Values:
        """Of each group its place in `KINDS`, by its judged answers alone."""
        right, judged = self["right"], self["judged"]
        agree = np.where(right == 0, KINDS.index("wrong"), KINDS.index("mixed"))
        agree = np.where((right == judged) & (right > 0), KINDS.index("right"), agree)
        return np.where(judged <= 0, KINDS.index("unjudged"), agree)

    def rate(self) -> Values:
        """Share of right answers among the judged ones; NaN where none was judged."""
        judged = np.where(self["judged"] > 0, self["judged"], np.nan)
        return self["right"] / judged

    def place(self, step: int, group: int) -> int | None:
        """Where a group stands, None where it does not."""
        found = np.flatnonzero((self["step"] == step) & (self["group"] == group))
        return int(found[0]) if found.size else None


def joined(blocks: Sequence[Groups]) -> Groups:
    """Blocks one after another."""
    if not blocks:
        return Groups({name: np.zeros(0, kind) for name, kind in TYPES.items()})
    return Groups({name: np.concatenate([block[name] for block in blocks]) for name in TYPES})


def from_line(row: Mapping[str, Any]) -> Groups | None:
    """A line of groups.jsonl; None where it is not what such a line is."""
    keys = row.get("key")
    if not isinstance(keys, list):
        return None
    names = [str(key) for key in cast(list[Any], keys)]
    size = len(names)
    given = {"step": [row.get("step")] * size, "group": range(size), "key": names}
    try:
        columns = {name: column(name, given.get(name, row.get(name)), size) for name in TYPES}
    except (ValueError, TypeError, OverflowError):
        return None
    return Groups(columns)


def column(name: str, found: Any, size: int) -> Values:
    """A list of the right length as the column of that name; what is null or missing is unknown.

    Raises `ValueError`, `TypeError` or `OverflowError` where it is no such list.
    """
    kind = TYPES[name]
    absent = {np.float32: np.nan, np.bool_: False}.get(kind, UNKNOWN)
    made = np.full(size, absent, kind)
    if found is None:
        return made
    values = [absent if value is None else value for value in found]
    if len(values) != size:
        raise ValueError(f"{len(values)} values for {size} groups")
    made[:] = values
    return made
