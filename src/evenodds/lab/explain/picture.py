"""The picture of `evenodds explain`: one SVG file that reads on light and on dark paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import shorten, wrap

from evenodds.report.explain import Answer, Curve, Example, Explanation
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
from evenodds.report.text import one_line, short
from evenodds.statistics import informative_group_probability

LINE = 17
LETTERS = 64  # of a line of words in a panel
STRENGTH = ("", "strong")
MOST_NAMED = 8  # bars that have room for their sums
POINTS = 60


def svg_of(found: Explanation) -> str:
    """Weights of the example, the push by ratio, the informative share, and the formula."""
    panels = [bars(found.example), push_plot(found), odds_plot(found), words(found)]
    about = shorten(found.axes, 140, placeholder=" …")
    return sheet(one_line(found.recipe, 80), panels, about)


def bars(example: Example) -> str:
    """A bar an answer: as high as a token weighs, as wide as it has tokens, so its area is the sum.

    Answers that are not in the loss are drawn as empty boxes on the axis.
    """
    heights = [_mean(answer) for answer in example.answers]
    top, bottom = max(0.0, *heights), min(0.0, *heights)
    air = 0.16 * (top - bottom) or 1.0
    y = Scale(bottom - air, top + air, HEIGHT - BOTTOM, TOP)
    ticks = named(nice_ticks(y.low, y.high))
    left = 8 + LETTER * max(len(name) for _, name in ticks)
    frame = Frame(Scale(0, len(heights), left, WIDTH - 8), y)
    parts = y_axis(frame, ticks, "weight of a token (height); area is the sum of the answer")
    longest = max(answer.length for answer in example.answers)
    for place, answer in enumerate(example.answers):
        parts += _bar(frame, place, answer, answer.length / longest, len(heights))
    parts.append(line(left, y(0), WIDTH - 8, y(0), "axis"))
    below = "answer: tokens" if len(heights) <= MOST_NAMED else "answer"
    parts.append(text((left + WIDTH) / 2, HEIGHT - 5, below, anchor="middle"))
    return picture("Weight of each token of the example group", parts)


def _mean(answer: Answer) -> float:
    return answer.total / answer.length


def _bar(frame: Frame, place: int, answer: Answer, share: float, count: int) -> list[str]:
    slot = frame.x(1) - frame.x(0)
    width = max(2.0, share * (slot - 6))
    x, height, zero = frame.x(place + 0.5) - width / 2, _mean(answer), frame.y(0)
    y = min(frame.y(height), zero)
    kind = f"s c{1 if height >= 0 else 2}"
    tall = abs(frame.y(height) - zero)
    if answer.why:
        kind, y, tall = "out", zero - 7, 14.0
    parts = [
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(tall)}" class="{kind}"/>'
    ]
    middle = frame.x(place + 0.5)
    if count <= MOST_NAMED:
        at = y - 5 if height >= 0 else y + tall + 13
        said = "out" if answer.why else f"{'+' if height > 0 else ''}{short(answer.total)}"
        parts.append(text(middle, at, said.replace("-", "−"), "note", "middle"))
        name = f"{place + 1}: {answer.length}{'+' if answer.is_cut else ''}"
        parts.append(text(middle, HEIGHT - 20, name, "note", "middle"))
    elif slot > 2 * LETTER:
        parts.append(text(middle, HEIGHT - 20, str(place + 1), "note", "middle"))
    return parts


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
    axes = Axes(
        "push on log π of a token",
        f"ratio: how much likelier {what} is than {found.since}",
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
        "informative groups: their answers differ",
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
