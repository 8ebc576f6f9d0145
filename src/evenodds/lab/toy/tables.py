"""The results as text: a table a setting, sample groups, coverage by prompt, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evenodds.lab.toy.experiment import SIDES, ToyResult
from evenodds.lab.toy.measure import METRICS
from evenodds.lab.toy.pattern import Change, Check, change_of
from evenodds.statistics import Estimate

NAME, CELL = 21, 39


def table(results: Sequence[ToyResult]) -> str:
    """Before → after of one setting, on both sides; of several seeds the means."""
    first = results[0]
    many = len(results) > 1
    what = f"means of {len(results)} seeds" if many else f"seed {first.seed}"
    interval = "seeds" if many else "problems"
    lines = [
        f"{first.setting.name}: {first.setting.about}",
        f"{what}; changes with 95 % intervals over {interval}",
        " " * NAME + "".join(f"{_sizes(side, first):<{CELL}}" for side in SIDES).rstrip(),
    ]
    for metric in METRICS:
        cells = [_cell(change_of(results, side, metric), many) for side in SIDES]
        lines.append(f"{metric:<{NAME}}" + "".join(f"{cell:<{CELL}}" for cell in cells).rstrip())
    return "\n".join(lines)


def _sizes(side: str, result: ToyResult) -> str:
    overall = result.before[side].summary.overall
    return f"{side}: {overall.problems} prompts × {overall.answers // overall.problems} answers"


def _cell(change: Change, many: bool) -> str:
    estimate = change.seeds if many else change.problems
    moved = f"{change.after - change.before:+.3f}" if estimate is None else spread(estimate)
    return f"{change.before:.3f} → {change.after:.3f}  {moved}"


def spread(estimate: Estimate) -> str:
    """`+0.123 [+0.100, +0.150]`; without the interval where there is none."""
    if math.isinf(estimate.high):
        return f"{estimate.mean:+.3f}"
    return f"{estimate.mean:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def sample_lines(result: ToyResult) -> Iterator[str]:
    """Groups of answers from before and after, each answer with its reward."""
    for sample in result.samples:
        yield f"{result.setting.name}, {sample.side}: {sample.prompt}{sample.gold}"
        for name, answers in (("before", sample.before), ("after", sample.after)):
            shown = "   ".join(f"{text} ({reward:.2f})" for text, reward in answers)
            yield f"  {name:<7}{shown}"


def coverage_lines(result: ToyResult) -> Iterator[str]:
    """Right answers to each prompt before and after, and how many prompts were gained or lost."""
    for side in SIDES:
        rows = [row for row in result.coverage if row.side == side]
        lost = sum(row.before > 0 and row.after == 0 for row in rows)
        gained = sum(row.before == 0 and row.after > 0 for row in rows)
        yield f"{result.setting.name}, {side}: {lost} of {len(rows)} prompts lost, {gained} gained"
        for row in rows:
            yield f"  {row.key:<12} {row.before:>3} → {row.after:>3} of {row.tries} right"


def verdict_lines(checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        yield f"  {'ok  ' if check.holds else 'MISS'} {check.words:<50} {spread(check.change)}"


def markdown(results: Sequence[ToyResult]) -> str:
    """The table of one setting for a document, with intervals over seeds and over problems."""
    head = "| | side | before → after | change, over seeds | over problems |\n|---|---|---|---|---|"
    rows: list[str] = []
    for metric in METRICS:
        for side in SIDES:
            c = change_of(results, side, metric)
            problems = spread(c.problems) if c.problems else "–"
            moved = f"{c.before:.3f} → {c.after:.3f}"
            rows.append(f"| {metric} | {side} | {moved} | {spread(c.seeds)} | {problems} |")
    return "\n".join([head, *rows])
