"""Why a reward is flat: the causes that a run's own records show, best explained first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenodds.alarms import causes
from evenodds.alarms.case import Case, case_of
from evenodds.alarms.causes import Finding
from evenodds.alarms.history import Row

FEWEST = 10  # steps below which nothing can be said
SURE = 3.0  # standard errors of a rise that is no chance
RISE = 0.03  # of the reward; smaller ones are flat whatever their certainty
CLIMB = 0.5  # levels that a ladder climbs while it holds the reward


@dataclass(frozen=True)
class Course:
    """Where the reward began and ended, means of a fifth of the steps each, at least of five.

    error: standard error of the difference, from the scatter around a straight line.
    """

    began: float
    ended: float
    error: float

    @property
    def is_risen(self) -> bool:
        return self.ended - self.began > max(RISE, SURE * self.error)


def diagnose(
    config: Mapping[str, Any], rows: Sequence[Row], groups: Sequence[Mapping[str, Any]] = ()
) -> list[Finding]:
    """Why the reward of a run is flat, most telling first; never empty.

    config: the run's config.toml as nested tables; what is missing is taken to be the default.
    rows: of metrics.jsonl. groups: lines of groups.jsonl, or none where the run has none. Where
    the reward rose, or a ladder climbed while it held the reward, the one finding says so.
    """
    case = case_of(config, rows, groups)
    course = course_of(case)
    if course is None:
        words = f"the run took {len(rows)} steps with a reward, too few to tell"
        return [Finding("too few steps", words, "Let it take more steps", 0.5)]
    risen = _risen(case, course)
    if risen is not None:
        return [risen]
    found = [finding for cause in causes.CAUSES if (finding := cause(case)) is not None]
    return sorted([*found, _noise(course)], key=lambda finding: -finding.strength)


def course_of(case: Case) -> Course | None:
    """How the reward went; None where there are too few steps."""
    values = case.values("reward")
    if values.size < FEWEST:
        return None
    part = max(5, values.size // 5)
    at = np.arange(values.size)
    left = values - np.polyval(np.polyfit(at, values, 1), at)
    error = float(left.std()) * math.sqrt(2 / part)
    return Course(float(values[:part].mean()), float(values[-part:].mean()), error)


def _risen(case: Case, course: Course) -> Finding | None:
    """That nothing is flat, where that is so."""
    if course.is_risen:
        words = f"the reward rose from {course.began:.3f} to {course.ended:.3f}"
        return Finding("nothing is flat", words, "", 1.0, flat=False)
    levels = case.values("difficulty")
    if levels.size < FEWEST or case.setting("curriculum", "kind", "ladder") != "ladder":
        return None
    began, ended = float(np.median(levels[:5])), float(np.median(levels[-5:]))
    if ended - began < CLIMB:
        return None
    words = (
        f"the ladder holds the reward near {course.ended:.2f} by harder problems: difficulty rose "
        f"from {began:.1f} to {ended:.1f} levels"
    )
    return Finding("nothing is flat", words, "", 1.0, flat=False)


def _noise(course: Course) -> Finding:
    """What can always be said: how large a rise would have been seen."""
    seen = max(RISE, SURE * course.error)
    words = (
        f"the reward went from {course.began:.3f} to {course.ended:.3f}; with the noise of its "
        f"steps only a rise above {seen:.3f} would show"
    )
    return Finding("noise", words, "Take more steps, or raise sampling.groups", 0.1)
