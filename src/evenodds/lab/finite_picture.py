"""The picture of `evenodds lab finite`: one SVG file that reads on light and on dark paper."""

from __future__ import annotations

from collections.abc import Sequence

from evenodds.lab.finite import Ascent, Values
from evenodds.report.plots import Axes, Line, line_plot, share_plot
from evenodds.report.series import SMOOTH_FROM, Series
from evenodds.report.sheet import sheet
from evenodds.report.svg import named
from evenodds.report.text import short

DRAWS = 8
COLOURS = (1, 3, 4)  # of right answers; from the fourth on they come again, paler


def beta_name(ascent: Ascent) -> str:
    return f"β = {short(ascent.beta)}"


def picture(ascents: Sequence[Ascent]) -> str:
    """Reward, entropy, coverage and what draws find over the steps, then each policy's answers.

    ascents: of one question, the one without entropy first; at most four. A standing SVG document.
    """
    panels = [*_curves(ascents), *(_answers(ascent) for ascent in ascents)]
    title = f"“{ascents[0].question.text}” Exact gradient ascent on E[reward] + β · entropy"
    return sheet(title, panels)


def _curves(ascents: Sequence[Ascent]) -> list[str]:
    most = sum(ascents[0].question.right)
    found = f"different right answers in {DRAWS} draws, of {most}"
    share = Axes("expected reward: pass@1", y_range=(0, 1), percent=True)
    nats = Axes("entropy of the answer, nats", from_zero=True)
    outside = Axes(
        "coverage: share of right answers beside the likeliest", y_range=(0, 1), percent=True
    )
    count = Axes(found, y_range=(0, most), y_ticks=named(list(range(most + 1))))
    columns = [
        (share, [a.reward for a in ascents]),
        (nats, [a.entropy for a in ascents]),
        (outside, [a.coverage for a in ascents]),
        (count, [a.distinct_right(DRAWS) for a in ascents]),
    ]
    return [_curve(axes, ascents, values) for axes, values in columns]


def _curve(axes: Axes, ascents: Sequence[Ascent], columns: Sequence[Values]) -> str:
    """Colour 2 is what is compared against, here and in the report."""
    named_lines = zip(ascents, columns, (2, 1, 3, 4), strict=False)
    lines = [Line(_series(ys), beta_name(ascent), colour) for ascent, ys, colour in named_lines]
    return line_plot(axes.y_label, lines, axes)


def _answers(ascent: Ascent) -> str:
    """All probability as areas: the wrong answers together, then each right one by its name."""
    right = [i for i, is_right in enumerate(ascent.question.right) if is_right]
    shares = [Line(_few(1 - ascent.reward), "wrong", 2)]
    for place, i in enumerate(right):
        name, colour = ascent.question.answers[i], COLOURS[place % len(COLOURS)]
        again = place // len(COLOURS) % 2 == 1
        shares.append(Line(_few(ascent.probabilities[:, i]), name, colour, faint=again))
    title = f"probability of each answer, {beta_name(ascent)}"
    return share_plot(title, shares, title)


def _series(values: Values) -> Series:
    return Series(tuple(float(step) for step in range(len(values))), tuple(values.tolist()))


def _few(values: Values) -> Series:
    """Fewer points than a plot of shares would smooth, closer where more happens: at first."""
    last, count = len(values) - 1, SMOOTH_FROM - 1
    steps = sorted({round(last * (place / (count - 1)) ** 2) for place in range(count)})
    return Series(tuple(float(step) for step in steps), tuple(values[steps].tolist()))
