"""Words for a run whose rewards a coin drew: what it paid, never that an answer is right."""

from __future__ import annotations

from evenodds.report.record import RunRecord
from evenodds.report.text import SIGNS, mark_of

NAMES = {"mixed": "mixed", "right": "all right", "wrong": "all wrong", "unjudged": "not judged"}
PAID_NAMES = {"mixed": "mixed", "right": "all paid", "wrong": "none paid", "unjudged": "not judged"}
COLOURS = {"right": "kept", "wrong": "never"}
"""The kinds of a style sheet that say neither right nor wrong."""
PAID = {"right": ("●", "paid by a coin"), "wrong": ("○", "not paid, by a coin")}


def by_coin(run: RunRecord) -> bool:
    """Whether the answers of its training were paid by chance."""
    return run.setting("run", "random_reward") is True


def outcome_names(coin: bool) -> dict[str, str]:
    """What the kinds of groups are called."""
    return PAID_NAMES if coin else NAMES


def shown(status: str, coin: bool) -> tuple[str, str, str]:
    """Mark, sign and words of a verdict's status, not made safe yet."""
    mark = mark_of(status)
    if coin and mark in PAID:
        return ("coin", *PAID[mark])
    return mark, SIGNS[mark], status.replace("_", " ")


def share_words(right: object, judged: object, coin: bool) -> str:
    """`8 of 16 right`, or what the coin paid."""
    return f"{right} of {judged} {'paid by a coin' if coin else 'right'}"
