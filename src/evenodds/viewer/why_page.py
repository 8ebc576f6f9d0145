"""Why the reward of a run is flat, from its own records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenodds.alarms.flat import diagnose
from evenodds.report.text import one_line
from evenodds.viewer.data import Source
from evenodds.viewer.pages import Place, picture_values, render
from evenodds.viewer.table import COUNTS, UNKNOWN, Groups

LAST = 300  # steps whose groups are looked at for a diagnosis: what a run does now
SHOWN = ("Reward", "Groups that teach", "Truncated answers", "Answer length", "Entropy")


def why_page(place: Place) -> str:
    """What the run's own records say about a reward that does not rise."""
    run = place.source.record()
    pictures = [picture_values(item) for item in place.source.pictures() if item.title in SHOWN]
    return render(
        place,
        "why.html.j2",
        "why",
        findings=[
            (found, sentence(found.cause), sentence(found.evidence, "."))
            for found in diagnose(run.config, run.metrics, last_lines(place.source))
        ],
        pictures=pictures,
        steps=len(run.metrics),
    )


def sentence(words: str, end: str = "") -> str:
    """Words that begin with a capital and end as a sentence, safe on one line."""
    shown = one_line(words)
    return shown[:1].upper() + shown[1:] + (end if shown and shown[-1] not in ".!?" else "")


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
