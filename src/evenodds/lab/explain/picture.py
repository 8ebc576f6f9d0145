"""The picture of `evenodds explain`: one SVG file that reads on light and on dark paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap

from evenodds.report.explain import Answer, Curve, Example, Explanation
from evenodds.report.explain_text import signed
from evenodds.report.plots import Axes, Line, line_plot
from evenodds.report.series import Series
from evenodds.report.sheet import sheet
from evenodds.report.svg import (
    BOTTOM,
    HEIGHT,
    LETTER,
    TOP,
    WIDTH,
    Frame,
    Scale,
    line,
    named,
    nice_ticks,
    number,
    picture,
    text,
    y_axis,
)
from evenodds.report.text import one_line
from evenodds.statistics import informative_group_probability

LINE = 17
LETTERS = 64  # of a line of words in a panel
STRENGTH = ("", "strong")
MOST_NAMED = 16  # bars that have room for their sums,
SIDE_BY_SIDE = 8  # and those whose sums need no second line
STAGGER = 12.0
NARROWEST = 8.0  # of a bar: an answer of few tokens beside a long one is drawn too wide
POINTS = 60


def svg_of(found: Explanation) -> str:
    """Weights of the example, the push by ratio, the informative share, and the formula."""
    panels = [bars(found.example), push_plot(found), odds_plot(found), words(found)]
    return sheet(one_line(found.recipe, 80), panels, one_line(found.axes))


def bars(example: Example) -> str:
    """A bar an answer: as high as a token weighs, as wide as it has tokens, so its area is the sum.

    Each sum stands at its bar, for the narrowest bars are drawn wider than their tokens.
    Answers that are not in the loss are drawn as empty boxes on the axis.
    """
    heights = [_mean(answer) for answer in example.answers]
    top, bottom = max(0.0, *heights), min(0.0, *heights)
    is_crowded = len(heights) > SIDE_BY_SIDE
    air = (0.3 if is_crowded else 0.16) * (top - bottom) or 1.0
    y = Scale(bottom - air, top + air, HEIGHT - BOTTOM, TOP)
    ticks = named(nice_ticks(y.low, y.high))
    left = 8 + LETTER * max(len(name) for _, name in ticks)
    frame = Frame(Scale(0, len(heights), left, WIDTH - 8), y)
    parts = y_axis(frame, ticks, "weight of a token (height); area is the sum of the answer")
    longest = max(answer.length for answer in example.answers)
    offs = _offsets(example.answers) if is_crowded else [0.0] * len(heights)
    for place, answer in enumerate(example.answers):
        share = answer.length / longest
        rect, ends = _bar(frame, place, answer, share)
        parts += [rect, *_bar_names(frame, place, answer, ends, offs[place])]
    parts.append(line(left, y(0), WIDTH - 8, y(0), "axis"))
    below = "answer: tokens" if not is_crowded else "answer"
    parts.append(text((left + WIDTH) / 2, HEIGHT - 5, below, anchor="middle"))
    return picture("Weight of each token of the example group", parts)


def _mean(answer: Answer) -> float:
    return answer.total / answer.length


def _offsets(answers: Sequence[Answer]) -> list[float]:
    """How far from their bars sums stand, in turn on each side, so that neighbours fit."""
    seen = {True: 0, False: 0}
    offs: list[float] = []
    for answer in answers:
        offs.append(STAGGER * (seen[answer.total >= 0] % 2))
        seen[answer.total >= 0] += 1
    return offs


def _bar(frame: Frame, place: int, answer: Answer, share: float) -> tuple[str, tuple[float, float]]:
    """The bar, and where it begins and ends."""
    slot = frame.x(1) - frame.x(0)
    width = max(min(NARROWEST, slot - 1), share * (slot - 6))
    x, height, zero = frame.x(place + 0.5) - width / 2, _mean(answer), frame.y(0)
    y = min(frame.y(height), zero)
    kind = f"s c{1 if height >= 0 else 2}"
    tall = abs(frame.y(height) - zero)
    if answer.why:
        kind, y, tall = "out", zero - 7, 14.0
    rect = (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(tall)}" class="{kind}"/>'
    )
    return rect, (y, y + tall)


def _bar_names(
    frame: Frame, place: int, answer: Answer, ends: tuple[float, float], off: float
) -> list[str]:
    """The sum at the end of a bar, and the answer's number below it."""
    count, x, parts = round(frame.x.high), frame.x(place + 0.5), list[str]()
    is_crowded = count > SIDE_BY_SIDE
    if count <= MOST_NAMED:
        at = ends[0] - 5 - off if answer.total >= 0 else ends[1] + 13 + off
        words = _sum(answer, 2 if is_crowded else 3)
        half = LETTER / 2 * len(words)
        inside = min(max(x, frame.x.start + half), WIDTH - half)
        parts.append(text(inside, at, words, "note", "middle"))
    if not is_crowded:
        name = f"{place + 1}: {answer.length}{'+' if answer.is_cut else ''}"
        parts.append(text(x, HEIGHT - 20, name, "note", "middle"))
    elif frame.x(1) - frame.x(0) > 2 * LETTER:
        parts.append(text(x, HEIGHT - 20, str(place + 1), "note", "middle"))
    return parts


def _sum(answer: Answer, digits: int) -> str:
    return "out" if answer.why else signed(answer.total, digits)


def push_plot(found: Explanation) -> str:
    """The push for A = 1 and for A = -1, by ratio."""
    low, high = found.up.line[0][0], found.up.line[-1][0]
    lines = [
        Line(_series(curve), name, colour)
        for curve, name, colour in ((found.up, "A = 1", 1), (found.down, "A = −1", 2))
    ]
    start = low if low > 0.5 else 0.0
    ticks = [(value, f"{value:.6g}") for value in nice_ticks(start, high, 5)]
    what = "the answer's mean token" if found.is_by_sequence else "the token"
    below = f"ratio: how much likelier {what} is than {found.since}"
    if len(below) > LETTERS:
        below = f"ratio: how much likelier than {found.since}"
    axes = Axes(
        "push on log π of a token",
        below,
        x_ticks=ticks,
    )
    return line_plot("Push on a token by its ratio", lines, axes)


def _series(curve: Curve) -> Series:
    known = [(ratio, push) for ratio, push in curve.line if push is not None]
    return Series(tuple(r for r, _ in known), tuple(p for _, p in known))


def odds_plot(found: Explanation) -> str:
    """The share of informative groups by solve rate, and what refilling makes of it."""
    rates = [step / POINTS for step in range(POINTS + 1)]
    shares = [informative_group_probability(p, found.group_size) for p in rates]
    lines = [Line(_of(rates, shares), f"G = {found.group_size}", 1)]
    if found.zero_signal == "refill" and found.rounds > 1:
        filled = [1 - (1 - share) ** found.rounds for share in shares]
        lines.append(Line(_of(rates, filled), "refilled", 3))
    axes = Axes(
        "informative groups: their scores differ",
        "solve rate",
        (0, 1),
        percent=True,
        x_ticks=named([0, 0.25, 0.5, 0.75, 1]),
    )
    return line_plot("Informative share by solve rate", lines, axes)


def _of(xs: Sequence[float], ys: Sequence[float]) -> Series:
    return Series(tuple(xs), tuple(y for y in ys if math.isfinite(y)))


def words(found: Explanation) -> str:
    """The formula, and what its letters mean."""
    parts = [text(0, 11, "what is maximised", "label")]
    at = 24.0
    for place, words in enumerate(found.formula):
        for row in wrap(words, LETTERS, subsequent_indent=" "):
            at += LINE
            parts.append(text(4 + 14 * row.startswith(" "), at, row.strip(), STRENGTH[place == 0]))
    return picture("What is maximised", parts)
