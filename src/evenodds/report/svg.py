"""The few pieces of SVG that the plots are made of: a frame with axes, and marks in it.

Colours are classes, so that the page's style sheet decides them for light, dark and paper. All
lengths are in the units of the view box; the picture takes the width that it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from evenodds.report.text import safe, short

WIDTH, HEIGHT = 420, 230
TOP, BOTTOM = 24, 34
LETTER = 6.7  # about the width of a letter of a label
BOLD = 8.0  # and of a bold one
GAP = 13.0  # labels stand at least so far apart

Ticks = Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Scale:
    """Values in [low, high] to places in [start, end], linear or logarithmic; others are cut."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        cut = min(self.high, max(self.low, value))
        if self.log:
            share = math.log(cut / self.low) / math.log(self.high / self.low)
        else:
            share = (cut - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class Frame:
    """Where a plot draws: two scales inside margins."""

    x: Scale
    y: Scale

    def place(self, x: float, y: float) -> str:
        return f"{number(self.x(x))},{number(self.y(y))}"


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def span_of(values: Sequence[float], least: float = 1e-9) -> tuple[float, float]:
    """The range of some values with a little air, never empty."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    air = max(0.06 * (high - low), (least - (high - low)) / 2, 1e-9, 1e-6 * abs(high))
    return low - air, high + air


def nice_ticks(low: float, high: float, about: int = 5, whole: bool = False) -> list[float]:
    """Round numbers within a range: steps of 1, 2 or 5 times a power of ten.

    One number where the range is none: beside 10^17 a half is nothing.
    """
    raw = (high - low) / max(1, about)
    if raw <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    step = max(1.0, step) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; linear ticks where the range holds too few of those."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    if len(found) < 3:
        return nice_ticks(low, high, 8)
    return found if len(found) <= 7 else found[:: math.ceil(len(found) / 6)]


def named(values: Sequence[float], name: Callable[[float], str] = short) -> Ticks:
    """Ticks with their names, in which a minus is as wide as a plus."""
    return [(value, name(value).replace("-", "−")) for value in values]


def text(x: float, y: float, words: str, classes: str = "", anchor: str = "") -> str:
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    classed = f' class="{classes}"' if classes else ""
    return f'<text x="{number(x)}" y="{number(y)}"{classed}{anchored}>{escape(safe(words))}</text>'


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    ends = zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)
    places = " ".join(f'{name}="{number(value)}"' for name, value in ends)
    return f'<line {places} class="{classes}"/>'


def polyline(points: Sequence[str], classes: str) -> str:
    if len(points) == 1:  # a line of one point would not be seen
        x, _, y = points[0].partition(",")
        return f'<circle cx="{x}" cy="{y}" r="3" class="dot {classes}"/>'
    return f'<polyline points="{" ".join(points)}" class="{classes}"/>'


def polygon(points: Sequence[str], classes: str) -> str:
    return f'<polygon points="{" ".join(points)}" class="{classes}"/>'


def x_axis(frame: Frame, ticks: Ticks, label: str) -> list[str]:
    base = frame.y.start
    parts = [line(frame.x.start, base, frame.x.end, base, "axis")]
    parts += [text(frame.x(at), base + 14, name, anchor="middle") for at, name in ticks]
    parts.append(text((frame.x.start + frame.x.end) / 2, base + 29, label, anchor="middle"))
    return parts


def y_axis(frame: Frame, ticks: Ticks, label: str) -> list[str]:
    parts = [line(frame.x.start, frame.y(at), frame.x.end, frame.y(at), "grid") for at, _ in ticks]
    parts += [text(frame.x.start - 5, frame.y(at) + 4, name, anchor="end") for at, name in ticks]
    parts.append(text(0, 11, label, "label"))
    return parts


def apart(places: Sequence[float], low: float, high: float) -> list[float]:
    """Heights of labels, moved as little as keeps them from lying on each other."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = list(places)
    floor = low
    for index in order:
        moved[index] = max(places[index], floor)
        floor = moved[index] + GAP
    ceiling = high
    for index in reversed(order):
        moved[index] = min(moved[index], ceiling)
        ceiling = moved[index] - GAP
    return moved


def picture(title: str, parts: Sequence[str], height: float = HEIGHT) -> str:
    """The whole SVG element. `title` is what a screen reader says and a pointer shows."""
    words = escape(safe(title))
    return (
        f'<svg viewBox="0 0 {WIDTH} {number(height)}" role="img" aria-label="{words}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{words}</title>{"".join(parts)}</svg>'
    )


def empty(title: str, why: str) -> str:
    """A picture for what was not measured, so that its place says why it is empty."""
    return picture(title, [text(WIDTH / 2, 40, why, "label", "middle")], height=70)
