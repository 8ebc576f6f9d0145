"""Plots as inline SVG text: lines with bands, intervals by row, and stacked shares.

No script, no font, no resource from elsewhere, and about 2 KB a plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenodds.report.series import Series, smoothed, spread, thinned
from evenodds.report.svg import (
    BOLD,
    BOTTOM,
    GAP,
    HEIGHT,
    LETTER,
    TOP,
    WIDTH,
    Frame,
    Scale,
    Ticks,
    apart,
    empty,
    line,
    log_ticks,
    named,
    nice_ticks,
    number,
    picture,
    polygon,
    polyline,
    span_of,
    text,
    x_axis,
    y_axis,
)
from evenodds.report.text import short
from evenodds.statistics import Estimate, percent

BAND_POINTS = 80  # an edge of an area may be coarser than a line
NOTHING = "Nothing was measured yet."
Name = tuple[float, float, str]  # x and y of a word, and the word


@dataclass(frozen=True)
class Line:
    """A series with its direct label. colour: 1 to 4. smooth: a bold mean over the faint raw.

    faint: as an area it is paler, so that a colour can be used twice.
    """

    series: Series
    label: str = ""
    colour: int = 1
    smooth: bool = False
    marks: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Band:
    """The area between two series over the same places."""

    low: Series
    high: Series
    colour: int = 1
    faint: bool = False
    label: str = ""


@dataclass(frozen=True)
class Axes:
    """How a line plot is read. Ranges and ticks follow from the data where they are not given.

    least: the y range is never narrower than this, so that noise is not blown up.
    from_zero: the y range begins at 0, so that a height is a share of another.
    """

    y_label: str
    x_label: str = "training step"
    y_range: tuple[float, float] | None = None
    least: float = 1e-9
    percent: bool = False
    log: bool = False
    from_zero: bool = False
    x_ticks: Ticks | None = None
    y_ticks: Ticks | None = None
    reference: tuple[float, str] | None = None


def line_plot(title: str, lines: Sequence[Line], axes: Axes, bands: Sequence[Band] = ()) -> str:
    """Series over steps, or over whatever `axes` says."""
    lines = [item for item in lines if item.series]
    bands = [item for item in bands if item.low and item.high]
    if not lines and not bands:
        return empty(title, NOTHING)
    frame, y_ticks = _frame(lines, bands, axes)
    x_ticks = axes.x_ticks or named(nice_ticks(frame.x.low, frame.x.high, 6, whole=True))
    parts = [*y_axis(frame, y_ticks, axes.y_label), *x_axis(frame, x_ticks, axes.x_label)]
    parts += [_band(frame, band) for band in bands]
    if axes.reference:
        at, words = frame.y(axes.reference[0]), axes.reference[1]
        parts.append(line(frame.x.start, at, frame.x.end, at, "reference"))
        parts.append(text(frame.x.end + 5, at + 4, words, "note"))
    parts += [mark for item in lines for mark in _marks(frame, item)]
    return picture(title, [*parts, *_end_labels(frame, lines, bands)])


def _frame(lines: Sequence[Line], bands: Sequence[Band], axes: Axes) -> tuple[Frame, Ticks]:
    everything = [item.series for item in lines]
    everything += [side for band in bands for side in (band.low, band.high)]
    ys = [y for series in everything for y in series.ys]
    ys += [axes.reference[0]] if axes.reference else []
    xs = [x for series in everything for x in series.xs]
    low, high = axes.y_range or span_of(ys, axes.least)
    if axes.log:
        low, high = _log_span(ys)
    if axes.from_zero:
        low, high = 0.0, max(axes.least, high)
    values = log_ticks(low, high) if axes.log else nice_ticks(low, high)
    ticks = axes.y_ticks or named(values, percent if axes.percent else short)
    widest = max((len(name) for _, name in ticks), default=0)
    ends = [item.label for item in lines] + [band.label for band in bands]
    ends += [axes.reference[1]] if axes.reference else []
    right = WIDTH - 12 - BOLD * max(len(words) for words in ends)
    left, first, last = 8 + LETTER * widest, min(xs), max(xs)
    x = Scale(first, last if last > first else first + 1, left, right)
    return Frame(x, Scale(low, high, HEIGHT - BOTTOM, TOP, axes.log)), ticks


def _log_span(ys: Sequence[float]) -> tuple[float, float]:
    """A range around 1 within four powers of ten; what lies outside is drawn at its edge."""
    return max(1e-4, min(0.9, *ys)), min(1e4, max(1.1, *ys))


def _marks(frame: Frame, item: Line) -> list[str]:
    bold = item.smooth and item.series.is_long
    main = thinned(smoothed(item.series) if bold else item.series)
    parts = [_path(frame, thinned(item.series), f"l c{item.colour} raw")] if bold else []
    parts.append(_path(frame, main, f"l c{item.colour}"))
    if item.marks:
        parts += [_path(frame, Series((x,), (y,)), f"c{item.colour}") for x, y in _pairs(main)]
    return parts


def _pairs(series: Series) -> list[tuple[float, float]]:
    return list(zip(series.xs, series.ys, strict=True))


def _path(frame: Frame, series: Series, classes: str) -> str:
    return polyline([frame.place(x, y) for x, y in _pairs(series)], classes)


def _band(frame: Frame, band: Band) -> str:
    upper = [frame.place(x, y) for x, y in _pairs(thinned(band.high, BAND_POINTS))]
    lower = [frame.place(x, y) for x, y in _pairs(thinned(band.low, BAND_POINTS))]
    return polygon([*upper, *reversed(lower)], f"b c{band.colour}{' raw' if band.faint else ''}")


def _end_labels(frame: Frame, lines: Sequence[Line], bands: Sequence[Band]) -> list[str]:
    """Each label stands at the end of what it names."""
    found = [(item.series.ys[-1], item.label, item.colour) for item in lines if item.label]
    found += [(band.high.ys[-1], band.label, band.colour) for band in bands if band.label]
    places = apart([frame.y(y) + 4 for y, _, _ in found], TOP + 4, HEIGHT - BOTTOM)
    labelled = zip(found, places, strict=True)
    return [text(frame.x.end + 5, at, words, f"t c{c}") for (_, words, c), at in labelled]


RATES: Ticks = named([0, 0.25, 0.5, 0.75, 1], percent)


@dataclass(frozen=True)
class Group:
    """One row of an interval plot: a label and an estimate for each column, None if missing."""

    label: str
    estimates: tuple[Estimate | None, ...]


def interval_plot(
    title: str,
    groups: Sequence[Group],
    columns: Sequence[str],
    x_label: str,
    x_ticks: Ticks = RATES,
) -> str:
    """Estimates with their intervals, one row a group, one mark a column; the last is filled.

    The ticks are the range as well. A line is drawn at zero where zero lies inside it.
    """
    if not any(item for group in groups for item in group.estimates):
        return empty(title, NOTHING)
    row = 14.0 + 10 * len(columns)
    height, parts = TOP + BOTTOM + row * len(groups), list[str]()
    left = 12 + LETTER * max(len(group.label) for group in groups)
    x = Scale(x_ticks[0][0], x_ticks[-1][0], left, WIDTH - 20)
    frame = Frame(x, Scale(0, len(groups), height - BOTTOM, TOP))
    for at, _ in x_ticks:
        kind = "reference" if at == 0 > x.low else "grid"
        parts.append(line(x(at), TOP, x(at), height - BOTTOM, kind))
    parts += x_axis(frame, x_ticks, x_label) + (_legend(left, columns) if columns[1:] else [])
    for index, group in enumerate(groups):
        top = TOP + row * index
        parts.append(text(left - 10, top + row / 2 + 4, group.label, anchor="end"))
        for column, estimate in enumerate(group.estimates):
            parts += _interval(frame.x, top + 12 + 10 * column, estimate, _colour(column, columns))
    return picture(title, parts, height)


def _colour(column: int, columns: Sequence[str]) -> int:
    """The last column, what training led to, has the first colour everywhere."""
    return 1 if column == len(columns) - 1 else 2


def _legend(left: float, columns: Sequence[str]) -> list[str]:
    parts: list[str] = []
    for column, name in enumerate(columns):
        colour = _colour(column, columns)
        parts.append(_dot(left + 4, 9, colour))
        parts.append(text(left + 12, 13, name, f"t c{colour}"))
        left += 30 + LETTER * len(name)
    return parts


def _dot(x: float, y: float, colour: int) -> str:
    kind = "dot" if colour == 1 else "ring"
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="4" class="{kind} c{colour}"/>'


def _interval(scale: Scale, y: float, estimate: Estimate | None, colour: int) -> list[str]:
    if estimate is None or estimate.mean != estimate.mean:
        return []
    reach = line(scale(estimate.low), y, scale(estimate.high), y, f"l c{colour}")
    return [reach, _dot(scale(estimate.mean), y, colour)]


def share_plot(title: str, shares: Sequence[Line], y_label: str) -> str:
    """Shares that sum to one as stacked areas, each named inside where it is thickest."""
    shares = [item for item in shares if item.series]
    if not shares:
        return empty(title, NOTHING)
    kept = spread(len(shares[0].series.xs), BAND_POINTS)
    xs = [shares[0].series.xs[index] for index in kept]
    x = Scale(xs[0], xs[-1] if len(xs) > 1 else xs[0] + 1, 46, WIDTH - 12)
    frame = Frame(x, Scale(0, 1, HEIGHT - BOTTOM, TOP))
    edges, parts = [0.0] * len(xs), list[str]()
    names: list[Name] = []
    for item in shares:
        values = (smoothed(item.series) if item.series.is_long else item.series).ys
        upper = [edge + values[index] for edge, index in zip(edges, kept, strict=True)]
        parts.append(_area(frame, xs, edges, upper, item))
        names += _inside(frame, xs, edges, upper, item)
        edges = upper
    y_ticks, x_ticks = named([0, 0.5, 1], percent), named(nice_ticks(x.low, x.high, 6, whole=True))
    axes = [*y_axis(frame, y_ticks, y_label), *x_axis(frame, x_ticks, "training step")]
    return picture(title, [*axes, *parts, *_names(names)])


def _area(
    frame: Frame, xs: Sequence[float], low: Sequence[float], high: Sequence[float], item: Line
) -> str:
    if len(xs) == 1:  # a single step is drawn as wide as the plot
        xs, low, high = [xs[0], xs[0] + 1], [*low, *low], [*high, *high]
    upper = [frame.place(x, y) for x, y in zip(xs, high, strict=True)]
    lower = [frame.place(x, y) for x, y in zip(xs, low, strict=True)]
    return polygon([*upper, *reversed(lower)], f"s{' faint' * item.faint} c{item.colour}")


def _inside(
    frame: Frame, xs: Sequence[float], low: Sequence[float], high: Sequence[float], item: Line
) -> list[Name]:
    """Where the name of an area stands: where it is thickest, unless it is too thin for one."""
    thickness = [top - bottom for top, bottom in zip(high, low, strict=True)]
    inner = [i for i, x in enumerate(xs) if 90 < frame.x(x) < WIDTH - 60] or [0]
    best = max(inner, key=lambda index: thickness[index])
    if frame.y(0) - frame.y(thickness[best]) < GAP:
        return []
    middle = frame.y((low[best] + high[best]) / 2) + 4
    return [(max(90, frame.x(xs[best])), middle, item.label)]


def _names(names: Sequence[Name]) -> list[str]:
    """Names that would lie on each other are moved apart."""
    heights = apart([y for _, y, _ in names], TOP + 4, HEIGHT - BOTTOM)
    placed = zip(names, heights, strict=True)
    return [text(x, y, words, "inside", "middle") for (x, _, words), y in placed]
