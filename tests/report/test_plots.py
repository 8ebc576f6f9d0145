"""Plots cope with whatever a run recorded, and stay small, well-formed and inert."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET

import pytest

from evenodds.report.plots import Axes, Band, Group, Line, interval_plot, line_plot, share_plot
from evenodds.report.series import Series, of_metric, smoothed, spread, thinned
from evenodds.report.svg import apart, log_ticks, nice_ticks
from evenodds.statistics import Estimate
from tests.report import synthetic

LENGTHS = [0, 1, 2, 3, 30, 5000]


def series(count: int, value: float = 0.5) -> Series:
    return Series(tuple(range(count)), (value,) * count)


def coordinates(svg: str) -> list[float]:
    """Every number that places something; parsing it proves that the SVG is well-formed."""
    names = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy")
    found: list[float] = []
    for item in ET.fromstring(svg).iter():
        found += [float(item.attrib[name]) for name in names if name in item.attrib]
        points = item.attrib.get("points", "").replace(",", " ").split()
        found += [float(value) for value in points]
    return found


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("log", [False, True])
def test_line_plots_of_any_length(count: int, log: bool) -> None:
    low, high = series(count, 0.4), series(count, 0.9)
    lines = [Line(series(count), "a", smooth=True), Line(high, "b", 2, marks=count < 5)]
    svg = line_plot("t", lines, Axes("y", log=log, reference=(0.5, "half")), [Band(low, high)])
    assert all(math.isfinite(value) and -1 <= value <= 421 for value in coordinates(svg))
    assert len(svg) < 14_000
    assert ("Nothing was measured" in svg) == (count == 0)


@pytest.mark.parametrize("count", LENGTHS)
def test_share_plots_of_any_length(count: int) -> None:
    shares = [Line(series(count, value), name) for value, name in ((0.3, "a"), (0.7, "b"))]
    svg = share_plot("t", shares, "share")
    assert all(math.isfinite(value) for value in coordinates(svg))
    assert len(svg) < 7_000


def test_interval_plots_leave_out_what_was_not_measured() -> None:
    nothing = Estimate(math.nan, 0, 1)
    svg = interval_plot("t", [Group("a", (Estimate(0.5, 0.4, 0.6), None))], ("b", "a"), "x")
    assert svg.count("<circle") == 3  # two in the legend, one mark
    assert interval_plot("t", [Group("a", (nothing,))], ("b",), "x").count("<circle") == 0
    assert "Nothing was measured" in interval_plot("t", [], ("b", "a"), "x")


def test_metrics_that_are_missing_or_not_finite_are_left_out() -> None:
    rows = [{"step": 1, "a": 0.5}, {"step": 2}, {"step": 3, "a": math.nan}, {"step": 4, "a": "x"}]
    assert of_metric(rows, "a") == Series((1.0,), (0.5,))
    assert not of_metric(rows, "b")


def test_thinning_keeps_ends_and_spikes() -> None:
    ys = [0.0] * 10_000
    ys[4321] = 9.0
    found = thinned(Series(tuple(range(10_000)), tuple(ys)))
    assert len(found.xs) <= 150
    assert (found.xs[0], found.xs[-1]) == (0, 9999)
    assert 9.0 in found.ys
    assert all(one < two for one, two in zip(found.xs, found.xs[1:], strict=False))


def test_smoothing_keeps_the_mean_of_a_constant_and_the_slope_of_a_line() -> None:
    assert smoothed(series(100)).ys == pytest.approx([0.5] * 100)
    rising = smoothed(Series(tuple(range(100)), tuple(map(float, range(100))))).ys
    assert rising[50] == pytest.approx(50)


def test_ticks_are_round_and_inside() -> None:
    assert nice_ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert nice_ticks(-0.2, 7.3, 4, whole=True) == [0, 2, 4, 6]
    assert log_ticks(0.3, 9) == [0.5, 1, 2, 5]
    assert 1.0 in log_ticks(0.9, 1.1)
    assert nice_ticks(1e29 - 0.5, 1e29 + 0.5) == [1e29]
    assert spread(10, 3) == [0, 4, 9] and spread(2, 3) == [0, 1]


def test_labels_do_not_lie_on_each_other() -> None:
    found = sorted(apart([50, 51, 52, 199], 20, 200))
    assert all(two - one >= 12.9 for one, two in itertools.pairwise(found))
    assert found[-1] <= 200


def test_texts_in_pictures_are_inert() -> None:
    group = Group(synthetic.HOSTILE, (Estimate(0.5, 0.4, 0.6),))
    svg = interval_plot(synthetic.HOSTILE, [group], (synthetic.HOSTILE,), "x")
    assert {item.tag.rpartition("}")[2] for item in ET.fromstring(svg).iter()} <= {
        "svg", "title", "text", "line", "circle",
    }  # fmt: skip
    assert "\x1b" not in svg and "\u202e" not in svg


def test_an_empty_band_has_no_name_and_names_do_not_overprint() -> None:
    shares = [(1.0, "all right"), (0.0, "mixed"), (0.0, "all wrong")]
    svg = share_plot("t", [Line(series(40, value), name) for value, name in shares], "share")
    assert "all right" in svg and "mixed" not in svg and "all wrong" not in svg
    shares = [(0.08, "all right"), (0.08, "mixed"), (0.84, "all wrong")]
    svg = share_plot("t", [Line(series(40, value), name) for value, name in shares], "share")
    names = [item for item in ET.fromstring(svg).iter() if item.get("class") == "inside"]
    heights = sorted(float(item.attrib["y"]) for item in names)
    assert len(heights) == 3
    assert all(two - one >= 12.9 for one, two in itertools.pairwise(heights))


def test_an_axis_can_begin_at_zero() -> None:
    plot = [Line(Series((1, 2), (0.30, 0.34)))]
    assert ">0<" in line_plot("t", plot, Axes("y", from_zero=True, x_ticks=[(1, "a")]))
    assert ">0<" not in line_plot("t", plot, Axes("y", x_ticks=[(1, "a")]))
