"""From a number of a token to one of a few colours, and the legend that says which is which.

A colour is a class of one letter and one digit, so that all measures of a token stand in its
markup at once, and the style sheet shows the one that is chosen: no script is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenodds.report.text import short

Floats = NDArray[np.float64]
Kind = Literal["sequential", "diverging", "marked"]
STEPS = (-7 / 8, -5 / 8, -3 / 8, -1 / 8, 1 / 8, 3 / 8, 5 / 8, 7 / 8)  # of the largest value
LIKELY = tuple(math.log(p) for p in (0.95, 0.8, 0.5, 0.2, 0.05, 0.01))
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
HIGHEST = 700.0  # nats; e to more than 709 is no float
NATS = (0.05, 0.2, 0.5, 1.0, 1.6, 2.5)


@dataclass(frozen=True)
class Measure:
    """What tokens are coloured by. letter: of its classes. meaning: what the ends of it say.

    least, most: of a diverging measure, between which its largest value may be: noise below is no
    colour, and one token far out does not make all others pale.
    """

    name: str
    title: str
    letter: str
    kind: Kind
    low: str
    high: str
    least: float = 0.0
    most: float = math.inf


MEASURES = (
    Measure("logprob", "log-probability", "l", "sequential", "sure", "unlikely"),
    Measure("ratio", "ratio", "r", "diverging", "less likely", "likelier", 1e-3, 0.7),
    Measure("clip", "clip", "c", "marked", "whole gradient", "gradient cut"),
    Measure("entropy", "entropy", "e", "sequential", "settled", "open"),
    Measure("kl", "reference KL", "k", "diverging", "below the start", "above it", 1e-3, 2.0),
    Measure("weight", "gradient weight", "w", "diverging", "pushed down", "pushed up"),
)
BY_NAME = {measure.name: measure for measure in MEASURES}


@dataclass(frozen=True)
class Legend:
    """classes: of the swatches in order. low, high: the numbers at their ends. seen: of the group;
    empty where nothing was measured."""

    measure: Measure
    classes: tuple[str, ...]
    low: str
    high: str
    seen: str

    @property
    def is_measured(self) -> bool:
        return bool(self.seen)


@dataclass(frozen=True)
class Scale:
    """Where one colour of a measure ends and the next begins."""

    measure: Measure
    edges: tuple[float, ...]

    @property
    def pale(self) -> str:
        """The class without a colour: of what is usual, or near 0."""
        place = len(self.edges) // 2 if self.measure.kind == "diverging" else 0
        return f"{self.measure.letter}{place}"

    def classes(self, values: Floats) -> list[str]:
        """The class of each value; empty where it is not a number."""
        places = np.searchsorted(self.edges, values, side="right")
        if self.measure.name == "logprob":  # the likeliest is the palest
            places = len(self.edges) - places
        letter = self.measure.letter
        return [
            "" if value != value else f"{letter}{place}"
            for value, place in zip(values.tolist(), places.tolist(), strict=True)
        ]


def scale_of(measure: Measure, values: Floats) -> Scale:
    """The scale for the values of one group; those that are not finite count for nothing.

    Of a ratio and of a KL the values are logarithms.
    """
    if measure.kind == "marked":
        return Scale(measure, (0.5,))
    if measure.kind == "sequential":
        return Scale(measure, LIKELY[::-1] if measure.name == "logprob" else NATS)
    known = np.abs(values[np.isfinite(values)])
    largest = min(max(float(known.max(initial=0.0)), measure.least), measure.most)
    return Scale(measure, tuple(step * (largest or 1.0) for step in STEPS))


def legend_of(scale: Scale, values: Floats) -> Legend:
    measure, known = scale.measure, values[np.isfinite(values)]
    letter, count = measure.letter, len(scale.edges) + 1
    ends = _ends(scale)
    seen = _seen(measure, known) if known.size else ""
    return Legend(measure, tuple(f"{letter}{n}" for n in range(count)), *ends, seen)


def _ends(scale: Scale) -> tuple[str, str]:
    first, last = scale.edges[0], scale.edges[-1]
    if scale.measure.name == "logprob":
        return f"p > {math.exp(last):.2f}", f"p < {math.exp(first):.2f}"
    if scale.measure.name == "ratio":
        return f"< {number(math.exp(first))}", f"> {number(math.exp(last))}"
    if scale.measure.kind == "marked":
        return "", ""
    return f"< {number(first)}", f"> {number(last)}"


def _seen(measure: Measure, known: Floats) -> str:
    """What this group has: its least and its greatest value, or how many are marked."""
    if measure.kind == "marked":
        return f"{int(known.sum()):,} of {known.size:,} tokens"
    ends = (float(known.min()), float(known.max()))
    low, high = (exp(end) for end in ends) if measure.name == "ratio" else ends
    unit = " nats" if measure.name in ("entropy", "kl") else ""
    return f"{number(low)} to {number(high)}{unit}"


def number(value: float) -> str:
    """About three digits, with a real minus sign, and more where the value is close to 1.

    Small numbers are written as `3.6·10⁻⁵`.
    """
    if 1e-6 < abs(value - 1) < 0.05:
        return f"{value:.{max(3, 1 - math.floor(math.log10(abs(value - 1))))}f}"
    text = short(value)
    head, _, power = text.partition("e")
    if power:
        text = f"{head}·10{str(int(power)).translate(RAISED)}"
    return text.replace("-", "−")


def exp(value: float) -> float:
    """e^value; of what no float holds, infinity."""
    return math.exp(value) if value < HIGHEST else math.inf


def joined(arrays: Sequence[Floats | None]) -> Floats:
    """All values of a group in one line; nothing for those that were not measured."""
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if known else np.zeros(0)
