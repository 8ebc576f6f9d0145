"""The pages that mostly tell: the settings and passports of a run, and why its reward is flat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenodds.alarms.flat import diagnose
from evenodds.report.facts import commands, flattened
from evenodds.viewer.curves import curves
from evenodds.viewer.data import Source
from evenodds.viewer.overview import marked
from evenodds.viewer.pages import Place, render
from evenodds.viewer.table import COUNTS, UNKNOWN, Groups

LAST = 300  # steps whose groups are looked at for a diagnosis: what a run does now
SHOWN = ("Reward", "Groups that teach", "Truncated answers", "Answer length", "Entropy")


def settings_page(place: Place) -> str:
    """Configuration as resolved, passports, settings of the evaluations, how to repeat the run."""
    run = place.source.record()
    tables = [(f"Passport: {name}", flattened(found)) for name, found in run.passports.items()]
    evaluation = (run.final or run.base or {}).get("settings", {})
    return render(
        place,
        "settings.html.j2",
        "settings",
        config=[(name, flattened(_section(found))) for name, found in run.config.items()],
        tables=[*tables, ("Settings of the evaluations", flattened(evaluation))],
        commands=commands(run),
    )


def _section(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {"": found}


def why_page(place: Place) -> str:
    """What the run's own records say about a reward that does not rise."""
    run = place.source.record()
    pictures = [marked(item) for item in curves(run) if item.title in SHOWN]
    return render(
        place,
        "why.html.j2",
        "why",
        findings=diagnose(run.config, run.metrics, last_lines(place.source)),
        pictures=pictures,
        steps=len(run.metrics),
    )


def last_lines(source: Source) -> list[Mapping[str, Any]]:
    """The newest steps' groups as lines of groups.jsonl, whether or not the run has that file."""
    groups = source.groups()
    steps = sorted(set(groups["step"].tolist()))[-LAST:]
    kept = groups["step"] >= steps[0] if steps else groups["step"] < 0
    part = Groups({name: values[kept] for name, values in groups.columns.items()})
    return [line_of(part, step) for step in steps]


def line_of(groups: Groups, step: int) -> Mapping[str, Any]:
    """One step in the form of groups.jsonl."""
    here = groups["step"] == step
    names = ("key", "level", "reward", "mixed", *COUNTS)
    columns = {name: groups[name][here].tolist() for name in names}
    known = {
        name: [None if value == UNKNOWN or value != value else value for value in values]
        for name, values in columns.items()
    }
    return {"step": step, **known}
