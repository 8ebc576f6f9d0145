"""The picture of the experiment: what rises and what falls, over the course of training."""

from __future__ import annotations

from collections.abc import Sequence

from evenodds.lab.toy.experiment import ToyResult
from evenodds.lab.toy.pattern import over_seeds
from evenodds.report.plots import Axes, Band, Line, line_plot
from evenodds.report.series import Series
from evenodds.report.sheet import sheet
from evenodds.report.svg import named
from evenodds.statistics import Estimate

PANELS = (
    ("train", "mean reward", "mean reward, training prompts", False),
    ("held-out", "accuracy", "accuracy, held-out prompts", True),
    ("held-out", "pass@4", "pass@4, held-out prompts", True),
    ("held-out", "token entropy", "token entropy, held-out prompts, nats", False),
)
COLOURS = {"kept": 1, "narrow": 2}
Runs = dict[str, list[ToyResult]]


def picture(runs: Runs) -> str:
    """Four panels of the means over seeds, with bands of 95 % intervals over seeds where there are
    several. runs: results by setting. A standing SVG document."""
    panels = [_panel(runs, *panel) for panel in PANELS]
    seeds = max(len(results) for results in runs.values())
    title = f"A mean that rises while the model gets worse: a GRU, {seeds} seeds"
    return sheet(title, panels)


def _panel(runs: Runs, side: str, metric: str, label: str, percent: bool) -> str:
    lines: list[Line] = []
    bands: list[Band] = []
    for name, results in runs.items():
        places, estimates = _course(results, side, metric)
        colour = COLOURS[name]
        means = Series(places, tuple(e.mean for e in estimates))
        lines.append(Line(means, label=name, colour=colour, marks=True))
        if len(results) > 1:
            low = Series(places, tuple(max(0.0, e.low) for e in estimates))
            high = Series(places, tuple(e.high for e in estimates))
            bands.append(Band(low, high, colour=colour))
    ticks = named([0, 25, 50, 75, 100], lambda share: f"{share:.0f} %")
    axes = Axes(label, "share of training", from_zero=True, percent=percent, x_ticks=ticks)
    return line_plot(label, lines, axes, bands)


def _course(
    results: Sequence[ToyResult], side: str, metric: str
) -> tuple[tuple[float, ...], list[Estimate]]:
    """Where in training it was measured, in percent, and what was found over seeds."""
    steps = len(results[0].history)
    checks = [row["step"] for row in results[0].history if "checks" in row]
    columns = [
        [
            result.before[side][metric],
            *(row["checks"][side][metric] for row in result.history if "checks" in row),
            result.after[side][metric],
        ]
        for result in results
    ]
    places = (0.0, *(100 * step / steps for step in checks), 100.0)
    return places, [over_seeds(values) for values in zip(*columns, strict=True)]
