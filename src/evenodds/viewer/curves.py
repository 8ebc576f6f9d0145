"""The curves of the overview: those of the report, and what only matters while a run goes on."""

from __future__ import annotations

from collections.abc import Sequence

from evenodds.report.pictures import Picture, metric_picture, training_pictures
from evenodds.report.plots import Axes, Line, line_plot
from evenodds.report.record import RunRecord
from evenodds.report.series import of_metric
from evenodds.viewer.ladder import Level, ladder_picture, levels_of


def curves(run: RunRecord) -> list[Picture]:
    """Pictures with captions, in the order in which a person asks."""
    if not run.metrics:
        return []
    levels = levels_of(run)
    ladder = [_ladder(run, levels)] if len(levels) > 1 else []
    return [_reward(run), *ladder, *training_pictures(run), *_heldout(run), *_cut(run), _time(run)]


def _reward(run: RunRecord) -> Picture:
    return metric_picture(
        run,
        "Reward",
        "reward",
        Axes("mean of the judged answers", least=0.1),
        "What training pushes up, on problems that it draws itself. It is no evidence by itself: "
        "a curriculum keeps it level, and a verifier that can be fooled lets it rise.",
    )


def _ladder(run: RunRecord, levels: Sequence[Level]) -> Picture:
    return Picture(
        "The ladder",
        ladder_picture(run, levels),
        "The stronger a cell's colour, the more answers of that level were right in those steps; "
        "empty: not drawn. Right: the solve rate that the curriculum believes in now.",
    )


def _heldout(run: RunRecord) -> list[Picture]:
    """Evaluations on the way, where there are any."""
    lines = [
        Line(of_metric(run.metrics, f"heldout/{name}"), name, colour, marks=True)
        for name, colour in (("pass@1", 1), ("pass@k", 3))
    ]
    if not any(line.series for line in lines):
        return []
    title = "Held-out problems on the way"
    axes = Axes("problems solved", y_range=(0.0, 1.0), percent=True)
    caption = "Few problems, so that it is quick. pass@1 up while pass@k falls is sharpening only."
    return [Picture(title, line_plot(title, lines, axes), caption)]


def _cut(run: RunRecord) -> list[Picture]:
    if not any(of_metric(run.metrics, "completions/clipped_ratio").ys):
        return []
    axes = Axes("share of the answers", y_range=(0.0, 1.0), percent=True)
    caption = "Answers that the budget cut off before their end. Near 100 % nothing can be right."
    return [metric_picture(run, "Truncated answers", "completions/clipped_ratio", axes, caption)]


def _time(run: RunRecord) -> Picture:
    title = "Seconds a step"
    parts = (("step", "all", 1), ("sample", "sampling", 2), ("learn", "learning", 3))
    lines = [
        Line(of_metric(run.metrics, f"time/{name}"), label, colour, smooth=True)
        for name, label, colour in parts
    ]
    axes = Axes("seconds", least=0.1, from_zero=True)
    caption = "Where the time goes; what is left of all is judging, writing and loading."
    return Picture(title, line_plot(title, lines, axes), caption)
