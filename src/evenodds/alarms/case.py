"""A run whose reward is looked into: its settings, its rows, and its newest groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard, cast

import numpy as np

from evenodds.alarms.history import Facts, Numbers, Row, Values, digest
from evenodds.statistics import informative_group_probability

RECENT = 50  # rows that say how a run goes, and no more than a third of a short run
LARGEST = 1e30  # a larger number measures nothing


@dataclass(frozen=True)
class Case:
    """rows: the numbers of each step; see `history.digest`. skipped: why steps had no update.

    rates: solve rates of groups with at least two judged answers, smoothed; empty where the run has
    no groups.jsonl.
    """

    config: Mapping[str, Any]
    facts: Facts
    rows: Sequence[Numbers]
    skipped: Sequence[str]
    rates: Values

    def setting(self, section: str, name: str, default: Any) -> Any:
        """A setting of the run, or its default."""
        table: Any = self.config.get(section)
        found: Any = table.get(name) if isinstance(table, Mapping) else None  # pyright: ignore
        return default if found is None else found

    def number(self, section: str, name: str, default: float) -> float:
        """A setting that is a number, or its default: a folder may hold any text as its config."""
        found = self.setting(section, name, default)
        return found if _is_number(found) else default

    def values(self, name: str) -> Values:
        """All values of a metric, in the order of the steps."""
        return np.array([row[name] for row in self.rows if name in row], np.float64)

    def now(self, name: str, default: float = 0.0) -> float:
        """The mean of a metric over the last steps."""
        last = min(RECENT, max(10, len(self.rows) // 3))
        found = [row[name] for row in self.rows[-last:] if name in row]
        return float(np.mean(found)) if found else default

    def ends(self, name: str) -> tuple[float, float] | None:
        """The medians of the first and of the last five values; None where there are fewer."""
        found = self.values(name)
        if found.size < 5:
            return None
        return float(np.median(found[:5])), float(np.median(found[-5:]))

    @cached_property
    def unread(self) -> float:
        """Share of the last answers from which nothing could be extracted, cut ones left out."""
        return self.now("status/no_answer") + self.now("status/several_answers")

    @cached_property
    def explained(self) -> float:
        """Share of the last answers that are wrong for another reason than the problem."""
        cut = self.now("status/truncated", self.now("completions/clipped_ratio"))
        return min(1.0, cut + self.unread + self.now("unjudged"))

    def mixed_at(self, size: int) -> float | None:
        """The share of mixed groups to be expected of groups of that size; None if unknown."""
        if not self.rates.size:
            return None
        return float(np.mean([informative_group_probability(rate, size) for rate in self.rates]))


def case_of(
    config: Mapping[str, Any], rows: Sequence[Row], groups: Sequence[Mapping[str, Any]]
) -> Case:
    """What the records say, made ready to be asked. Of groups the last `RECENT` lines count."""
    empty = Case(config, Facts(), (), (), np.zeros(0))
    usual = Facts()
    facts = Facts(
        group_size=int(empty.number("sampling", "group_size", usual.group_size)),
        max_tokens=int(empty.number("sampling", "max_tokens", usual.max_tokens)),
        max_grad_norm=float(empty.number("learner", "max_grad_norm", usual.max_grad_norm)),
        passes=int(empty.number("learner", "passes", usual.passes)),
    )
    skipped = [str(row["skipped"]) for row in rows if row.get("skipped")]
    return Case(config, facts, [digest(row, facts) for row in rows], skipped, _rates(groups))


def _is_number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and abs(value) < LARGEST


def _rates(groups: Sequence[Mapping[str, Any]]) -> Values:
    """Smoothed solve rates of the newest groups: (right + 1/2) / (judged + 1)."""
    found: list[float] = []
    for line in groups[-RECENT:]:
        right, judged = line.get("right"), line.get("judged")
        if isinstance(right, list) and isinstance(judged, list):
            pairs = zip(cast(list[float], right), cast(list[float], judged), strict=False)
            known = [(c, n) for c, n in pairs if _is_number(c) and _is_number(n)]
            found += [(c + 0.5) / (n + 1) for c, n in known if n >= 2 and 0 <= c <= n]
    return np.array(found, np.float64)
