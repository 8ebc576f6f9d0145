"""All groups of a run in columns: small in memory, and quick to filter and sort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
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


def from_lines(rows: Mapping[int, Mapping[str, Any]]) -> dict[int, Groups]:
    """Lines of groups.jsonl by step, as the groups of each step; what is no such line is left out.

    All at once, for numpy takes 26 times as long for 2,000 small lists as for one long one.
    """
    sizes = {step: _size(row) for step, row in rows.items()}
    whole = {step: row for step, row in rows.items() if sizes[step]}
    try:
        every = _converted(whole, {step: sizes[step] for step in whole})
    except (ValueError, TypeError, OverflowError):
        if len(whole) <= 1:  # this is the line that is no such line
            return {}
        return {s: block for step in whole for s, block in from_lines({step: whole[step]}).items()}
    ends = list(accumulate(sizes[step] for step in whole))
    return {
        step: Groups({name: values[end - sizes[step] : end] for name, values in every.items()})
        for step, end in zip(whole, ends, strict=True)
    }


def _size(row: Mapping[str, Any]) -> int:
    """How many groups a line tells of; 0 where its lists are not of one length."""
    lists = [cast(list[Any], row[name]) for name in TYPES if isinstance(row.get(name), list)]
    sizes = {len(found) for found in lists}
    return sizes.pop() if len(sizes) == 1 and isinstance(row.get("key"), list) else 0


def _converted(
    rows: Mapping[int, Mapping[str, Any]], sizes: Mapping[int, int]
) -> dict[str, Values]:
    """The lines of several steps as long columns."""

    def values(name: str, step: int) -> Sequence[Any]:
        size = sizes[step]
        if name == "step":
            return [step] * size
        found = range(size) if name == "group" else rows[step].get(name)
        return [None] * size if found is None else found

    total = sum(sizes.values())
    return {
        name: column(name, list(chain.from_iterable(values(name, step) for step in rows)), total)
        for name in TYPES
    }


def from_line(row: Mapping[str, Any]) -> Groups | None:
    """One line of groups.jsonl; None where it is not what such a line is."""
    step = row.get("step")
    return from_lines({step: row}).get(step) if isinstance(step, int) else None


def column(name: str, values: Sequence[Any], size: int) -> Values:
    """Values as the column of that name; what is null is unknown.

    Raises `ValueError`, `TypeError` or `OverflowError` where they cannot be.
    """
    kind = TYPES[name]
    if kind is object:
        made = np.empty(size, object)
        made[:] = [str(value) for value in values]
        return made
    absent = {np.float32: np.nan, np.bool_: False}.get(kind, UNKNOWN)
    if None in values:
        values = [absent if value is None else value for value in values]
    with np.errstate(over="ignore"):  # a number beyond float32 is infinite
        made = np.array(values, kind)
    if made.shape != (size,):
        raise ValueError(f"{made.shape} values for {size} groups")
    return made
