"""Whether the record of an evaluation, which anybody may have written, can be compared at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from evenodds.report.series import is_number

PROBLEM_NUMBERS = (
    *("tries", "right", "greedy_right", "truncated", "mean_length", "ended", "entropy"),
    *("duplicates", "strategies", "audit_right", "audit_tries", "disagree"),
)
MOST = 1_000_000  # answers to a problem, and tokens of an answer: more is no evaluation

MOST_PARTS = 1000  # levels, and sources: each has intervals of its own


def is_evaluation(found: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether every number that a comparison reads is one, and none is beyond reason."""
    levels, settings = found.get("levels"), found.get("settings", {})
    if not isinstance(settings, Mapping) or not isinstance(levels, list) or not levels:
        return False
    if not _are_numbers(cast(Mapping[str, Any], settings), ("samples", "max_tokens")):
        return False
    control = found.get("control")
    if control is not None and not (
        isinstance(control, Mapping)
        and depth < 2
        and is_evaluation(cast(Mapping[str, Any], control), depth + 1)
    ):
        return False
    rows = cast(list[Any], levels)
    return len(rows) <= MOST_PARTS and all(map(_is_level, rows)) and _are_few_sources(rows)


def _are_few_sources(levels: Sequence[Mapping[str, Any]]) -> bool:
    named = {str(one.get("source")) for level in levels for one in level.get("problems", [])}
    return len(named) <= MOST_PARTS


def _is_level(level: Any) -> bool:
    if not isinstance(level, Mapping):
        return False
    known = cast(Mapping[str, Any], level)
    number, problems = known.get("level"), known.get("problems", [])
    if not is_number(number) or number != int(number):
        return False
    if not _are_numbers(known, ("entropy", "samples")) or not isinstance(problems, list):
        return False
    return all(_is_problem(problem) for problem in cast(list[Any], problems))


def _is_problem(problem: Any) -> bool:
    if not isinstance(problem, Mapping):
        return False
    known = cast(Mapping[str, Any], problem)
    if "key" not in known or not _are_numbers(known, PROBLEM_NUMBERS):
        return False
    tries, right = known.get("tries") or 0, known.get("right")
    if right is None and tries:
        return False  # judged, and nobody knows how: to call that wrong would be made up
    right = right or 0
    if tries != int(tries) or right != int(right) or not 0 <= right <= tries:
        return False
    return _are_votes(known.get("votes"), tries)


def _are_votes(votes: Any, tries: float) -> bool:
    """[text, count, right] each, and no more of them than answers."""
    if votes is None:
        return True
    if not isinstance(votes, Sequence) or isinstance(votes, str):
        return False
    counts: list[int] = []
    for vote in cast(Sequence[Any], votes):
        if not isinstance(vote, Sequence) or len(cast(Sequence[Any], vote)) != 3:
            return False
        count = cast(Sequence[Any], vote)[1]
        if not isinstance(count, int) or count < 0:
            return False
        counts.append(count)
    return sum(counts) <= tries


def _are_numbers(values: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether each of the values is a number within reason, true, false or not known."""
    for name in names:  # a plain loop: it is asked for each of a hundred thousand problems
        value = values.get(name)
        known = value is None or isinstance(value, bool)
        if not known and not (is_number(value) and abs(value) <= MOST):
            return False
    return True
