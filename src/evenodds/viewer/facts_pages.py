"""The pages that mostly tell: the settings and passports of a run, and why its reward is flat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from evenodds.alarms.flat import diagnose
from evenodds.report.facts import commands, flattened
from evenodds.report.text import one_line, safe
from evenodds.viewer.data import Source
from evenodds.viewer.overview import marked
from evenodds.viewer.pages import Place, render
from evenodds.viewer.table import COUNTS, UNKNOWN, Groups

LAST = 300  # steps whose groups are looked at for a diagnosis: what a run does now
SHOWN = ("Reward", "Groups that teach", "Truncated answers", "Answer length", "Entropy")


def settings_page(place: Place) -> str:
    """Configuration as resolved, passports, settings of the evaluations, how to repeat the run."""
    run = place.source.record()
    passports = {f"Passport: {name}": found for name, found in run.passports.items()}
    passports["Settings of the evaluations"] = (run.final or run.base or {}).get("settings", {})
    sections = [(name, flattened(_section(found))) for name, found in run.config.items()]
    return render(
        place,
        "settings.html.j2",
        "settings",
        config=[(name, rows) for name, rows in sections if rows],
        parts=[(name, flattened(_plain(found)), lists(found)) for name, found in passports.items()],
        commands=commands(run),
    )


def _section(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {"": found}


@dataclass(frozen=True)
class ListTable:
    """A list of records as a table, safe to show."""

    name: str
    columns: list[str]
    rows: list[list[str]]


def lists(values: Mapping[str, Any], prefix: str = "") -> list[ListTable]:
    """The lists of records that stand anywhere within some values, by their dotted names."""
    found: list[ListTable] = []
    for key, value in values.items():
        name = safe(f"{prefix}{key}")
        if isinstance(value, Mapping):
            found += lists(cast(Mapping[str, Any], value), f"{name}.")
        elif _is_list_of_records(value):
            columns = list(dict.fromkeys(str(column) for row in value for column in row))
            rows = [
                [dict(flattened({c: row.get(c)})).get(safe(c), "") for c in columns]
                for row in value
            ]
            found.append(ListTable(name, [safe(column) for column in columns], rows))
    return found


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without their lists of records."""
    nested = {
        key: _plain(cast(Mapping[str, Any], value)) if isinstance(value, Mapping) else value
        for key, value in values.items()
    }
    return {key: value for key, value in nested.items() if not _is_list_of_records(value)}


def _is_list_of_records(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(row, dict) for row in cast(list[Any], value))


def why_page(place: Place) -> str:
    """What the run's own records say about a reward that does not rise."""
    run = place.source.record()
    pictures = [marked(item) for item in place.source.pictures() if item.title in SHOWN]
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
