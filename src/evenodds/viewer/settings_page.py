"""The settings and passports of a run, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from evenodds.report.facts import commands, flattened
from evenodds.report.text import safe
from evenodds.viewer.pages import Place, render, shown_record


def settings_page(place: Place) -> str:
    """Configuration as resolved, passports, settings of the evaluations, how to repeat the run."""
    run = shown_record(place)
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
