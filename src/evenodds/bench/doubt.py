"""A second opinion on verdicts: a reader of its own, as simple as can be, that may disagree.

It shares no code with the verifiers, so that one mistake is seldom made by both. It is no judge:
where the two disagree, a person should look.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evenodds.domain import Group, Problem, Rollout, Verdict

KEPT = 100_000  # characters at the end of a text that are read
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Doubtful:
    """An answer about which the verifier and the second reader disagree, and why."""

    problem: Problem
    rollout: Rollout
    verdict: Verdict
    why: str

    def to_dict(self) -> dict[str, object]:
        return {
            "key": self.problem.key,
            "gold": self.problem.answer[:400],
            "completion": self.rollout.text[-2_000:],
            "stop": str(self.rollout.stop),
            "status": str(self.verdict.status),
            "score": self.verdict.score,
            "extracted": self.verdict.extracted,
            "how": self.verdict.note,
            "why": self.why,
        }


def doubtful(groups: Iterable[Group]) -> Iterator[Doubtful]:
    """The answers of these groups on which the second reader disagrees."""
    for group in groups:
        for rollout, verdict in zip(group.rollouts, group.verdicts, strict=True):
            why = objection(group.problem.answer, rollout.text, verdict)
            if why:
                yield Doubtful(group.problem, rollout, verdict, why)


def objection(gold: str, text: str, verdict: Verdict) -> str:
    """What the second reader has against a verdict; empty where it has nothing.

    It looks at the last line that is not empty. Paid, the gold should stand there, or in the text
    at all; not paid, it should not be the last thing that is said there.
    """
    if not verdict.is_judged:
        return "it could not be judged"
    line = last_line(text)
    is_paid = verdict.score >= 1
    if is_paid and not _holds(text, gold):
        return "paid, but the gold stands nowhere in the text"
    if is_paid and not _holds(line, gold):
        return "paid, but the gold is not in the last line"
    if not is_paid and _last_of(line) == _plain(gold) != "":
        return "not paid, but the last line ends with the gold"
    return ""


def last_line(text: str) -> str:
    """The last line with something in it."""
    lines = [line for line in text[-KEPT:].splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _holds(text: str, gold: str) -> bool:
    """Whether one of the words or numbers of the text is the gold, or the text contains it."""
    value = _number(gold)
    if value is None:
        return _plain(gold) in _plain(text[-KEPT:])
    return any(
        found is not None and math.isclose(found, value, rel_tol=TOLERANCE)
        for found in map(_number, words(text))
    )


def words(text: str) -> list[str]:
    """Runs of digits, signs and letters: everything else parts them."""
    kept = "".join(c if c.isalnum() or c in ".-/," else " " for c in text[-KEPT:])
    return [word.strip(".,") for word in kept.split() if word.strip(".,-/")]


def _last_of(line: str) -> str:
    found = words(line)
    return _plain(found[-1]) if found else ""


def _number(text: str) -> float | None:
    """A plain number or a fraction of two; None for anything else."""
    top, slash, bottom = text.strip().strip("$").replace(",", "").partition("/")
    try:
        value = float(top) / (float(bottom) if slash else 1.0)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _plain(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isalnum() or sign in ".-")
