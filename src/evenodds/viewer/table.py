"""All groups of a run in columns: small in memory, and quick to filter and sort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
UNKNOWN = -1  # a count that was not taken
COUNTS = ("size", "judged", "right", "truncated", "duplicates", "disagree", "tokens", "round")
KINDS = ("mixed", "right", "wrong", "unjudged")


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

    def place(self, step: int, group: int) -> int | None:
        """Where a group stands, None where it does not."""
        found = np.flatnonzero((self["step"] == step) & (self["group"] == group))
        return int(found[0]) if found.size else None


def empty() -> Groups:
    return joined([])


def joined(blocks: Sequence[Groups]) -> Groups:
    """Blocks one after another."""
    names = ("step", "group", "level", *COUNTS)
    kinds: dict[str, Any] = {name: np.int32 for name in names}
    kinds |= {"reward": np.float32, "mixed": np.bool_, "key": object}
    nothing = {name: np.zeros(0, kind) for name, kind in kinds.items()}
    if not blocks:
        return Groups(nothing)
    return Groups({name: np.concatenate([b[name] for b in blocks]) for name in kinds})


def from_line(row: Mapping[str, Any]) -> Groups | None:
    """A line of groups.jsonl; None where it is not what such a line is."""
    step, keys = row.get("step"), row.get("key")
    if not isinstance(step, int) or not isinstance(keys, list):
        return None
    size = len(keys)
    try:
        columns = {name: _counts(row.get(name), size) for name in ("level", *COUNTS)}
        columns["step"] = np.full(size, step, np.int32)
        columns["group"] = np.arange(size, dtype=np.int32)
        columns["reward"] = _column(row.get("reward"), size, np.nan, np.float32)
        columns["mixed"] = _column(row.get("mixed"), size, False, np.bool_)
    except (ValueError, TypeError, OverflowError):
        return None
    columns["key"] = np.array([str(key) for key in keys] or [""], object)[:size]
    return Groups(columns)


def _counts(found: Any, size: int) -> Values:
    return _column(found, size, UNKNOWN, np.int32)


def _column(found: Any, size: int, absent: Any, kind: Any) -> Values:
    """A list of the right length as an array; what is null or missing is `absent`."""
    if found is None:
        return np.full(size, absent, kind)
    values = [absent if value is None else value for value in found]
    made = np.array(values, kind)
    if made.shape != (size,):
        raise ValueError(f"{len(values)} values for {size} groups")
    return made
