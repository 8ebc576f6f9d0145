"""Columns of a record that disagree with what was made again, each named.

Tokens, verdicts and updates are compared by themselves; this is all else that a file could say
wrongly of an answer without any of these being different.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evenodds.domain import Problem, Rollout
from evenodds.records import Answer

if TYPE_CHECKING:
    from evenodds.replay.again import Replayed

NEAR = 1e-6  # old files hold a temperature as float32
CLOSE = 1e-3  # part of a metric by which sums in another order may move it


def altered(
    recorded: Answer, of: Problem, now: Rollout, problem: Problem, advantage: float | None
) -> tuple[str, ...]:
    """What the file says otherwise than what was made again, as `name: recorded A, now B`.

    of: the problem as recorded; problem: as proposed anew. advantage: as it follows from the
    recorded rewards; None where the answer is not in the loss.
    """
    pairs = _pairs(recorded, of, now, problem, advantage)
    return tuple(f"{name}: recorded {then!r}, now {value!r}" for name, then, value in pairs)


def _pairs(
    recorded: Answer, of: Problem, now: Rollout, problem: Problem, advantage: float | None
) -> Iterator[tuple[str, Any, Any]]:
    then = recorded.rollout
    found: dict[str, tuple[Any, Any]] = {
        "gold": (of.answer, as_written(problem.answer or "")),
        "level": (of.level, problem.level),
        "seed": (then.seed, now.seed),
        "max_tokens": (then.limits.max_tokens, now.limits.max_tokens),
        "stop_strings": (then.limits.stop_strings, tuple(map(as_written, now.limits.stop_strings))),
        "kept": (recorded.kept, not recorded.why),
    }
    if then.ids.size == now.ids.size and bool((then.ids == now.ids).all()):
        found["completion"] = (then.text, as_written(now.text))
    if advantage is not None:
        found["advantage"] = (recorded.advantage, advantage)
    yield from ((name, one, two) for name, (one, two) in found.items() if one != two)
    if not math.isclose(then.limits.temperature, now.limits.temperature, rel_tol=NEAR):
        yield "temperature", then.limits.temperature, now.limits.temperature


def as_written(text: str) -> str:
    """Text as a file holds it: a lone surrogate became a question mark there."""
    return text.encode("utf-8", "replace").decode()


def fault(found: Replayed) -> str:
    """The first thing in which a rollout is not what its run recorded, rounding aside; empty where
    there is none."""
    if found.match.kind not in ("bit-equal", "rounding"):
        return "its tokens"
    if not found.judgement.same and not found.judgement.chance:
        return "its verdict"
    if found.altered:
        return found.altered[0].partition(":")[0]
    off = found.departure
    if off is None or found.different or _is_rounding(off.recorded, off.now):
        return ""
    return f"the update of step {off.step} before it"


def _is_rounding(then: float | None, now: float | None) -> bool:
    if then is None or now is None:
        return False
    return abs(now - then) <= CLOSE * max(CLOSE, abs(then))
