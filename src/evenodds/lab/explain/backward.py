"""Objectives that push the wrong way: a loss where a value is wanted, a credit turned round."""

from __future__ import annotations

from collections.abc import Iterator

from evenodds.lab.explain.odds import lone_of
from evenodds.objectives import Objective
from evenodds.report.explain import Curve
from evenodds.report.explain_text import signed, turn_words

MEND = "What a surrogate returns is maximised"


def backward(
    objective: Objective, size: int, curves: tuple[Curve, Curve], signs: tuple[str, str]
) -> Iterator[str]:
    """Sentences on what is pushed against its advantage, none for an objective in order."""
    yield from _at_one(curves, signs)
    yield from _turns(curves, signs)
    lone = lone_of(objective, size)
    if lone is not None and lone[0] < lone[1]:
        yield (
            f"WRONG SIGN: the credit gives the only right answer of a group A = {signed(lone[0])} "
            f"and each wrong one {signed(lone[1])}: it rewards being wrong. Turn it round."
        )


def _at_one(curves: tuple[Curve, Curve], signs: tuple[str, str]) -> Iterator[str]:
    up, down = curves
    better, worse = signs
    others = "better ones" if better.startswith("answers better") else better
    if up.is_backward and down.is_backward:
        yield (
            f"WRONG SIGN: at ratio 1 this pushes {worse} up (and {others} down): {MEND[0].lower()}"
            f"{MEND[1:]}, so return the value and not a loss."
        )
    elif up.is_backward or down.is_backward:
        who, where = (better, "down") if up.is_backward else (worse, "up")
        same = "the push is the same whatever A is"
        why = same if up.at_one == down.at_one else f"{MEND}, so it has to rise with A"
        yield f"WRONG SIGN: at ratio 1 this pushes {who} {where}: {why}. Use tokens.advantages."


def _turns(curves: tuple[Curve, Curve], signs: tuple[str, str]) -> Iterator[str]:
    """Where a push becomes its opposite, said once of both where it is at the same ratio."""
    up, down = curves
    better, worse = signs
    for turn in up.turns:
        also = f", and {worse} up" if turn in down.turns else ""
        yield f"TURNS ROUND at ratio {turn_words(up, turn, better)}{also}."
    for turn in down.turns:
        if turn not in up.turns:
            yield f"TURNS ROUND at ratio {turn_words(down, turn, worse)}."
