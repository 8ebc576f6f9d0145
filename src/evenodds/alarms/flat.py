"""Why a reward is flat: the causes that a run's own records show, best explained first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenodds.alarms.history import Row


@dataclass(frozen=True)
class Finding:
    """One explanation. cause: a short name for people. strength: 0 to 1, how well it explains it.

    evidence: the run's own numbers in a sentence. remedy: which setting to change; empty where
    there is nothing to mend. flat: False only for the finding that the reward rose after all.
    """

    cause: str
    evidence: str
    remedy: str
    strength: float
    flat: bool = True


def diagnose(
    config: Mapping[str, Any], rows: Sequence[Row], groups: Sequence[Mapping[str, Any]] = ()
) -> list[Finding]:
    """Why the reward of a run is flat, most telling first; never empty.

    config: the run's config.toml as nested tables; what is missing is taken to be the default.
    rows: of metrics.jsonl. groups: lines of groups.jsonl, or none where the run has none.
    """
    return [Finding("too few steps", f"the run took {len(rows)} steps", "", 0.0)]
