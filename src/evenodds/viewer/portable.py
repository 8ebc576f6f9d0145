"""What a run says of itself without where things lay on its machine: for pages that are sent on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from pathlib import Path, PureWindowsPath
from typing import Any, cast

from evenodds.report.record import RunRecord

ROOT = r"(?:~[\w.-]*[/\\]|/|[A-Za-z]:[/\\]|\\\\)"  # what an absolute path begins with
WHOLE = re.compile(rf"(-{{0,2}}[\w.-]+=)?{ROOT}.*", re.DOTALL)
WORD = re.compile(rf"""(?<=[\s='"(\[,]){ROOT}[^\s'")\],]*""")


def portable(run: RunRecord) -> RunRecord:
    """The record to show in a file: of each absolute path in its settings the last part."""
    sides = [found and {**found, **_settings(found)} for found in (run.base, run.final)]
    return replace(
        run,
        config=without_places(run.config),
        passports=without_places(run.passports),
        base=sides[0],
        final=sides[1],
    )


def _settings(found: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in ("settings", "policy") if name in found]
    return {name: without_places(found[name]) for name in names}


def without_places(value: Any) -> Any:
    """A value of JSON with the last part of each absolute path that stands in it."""
    if isinstance(value, str):
        return _shortened(value)
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, Any], value).items()
        return {without_places(name): without_places(inner) for name, inner in pairs}
    if isinstance(value, list | tuple):
        return [without_places(inner) for inner in cast(list[Any], value)]
    return value


def _shortened(text: str) -> str:
    found = WHOLE.fullmatch(text)
    if found is not None:
        flag = found[1] or ""
        return flag + _last(text[len(flag) :])
    return WORD.sub(lambda found: _last(found[0]), text)


def _last(path: str) -> str:
    """Of a path of either kind of system; the root of one has no last part."""
    return PureWindowsPath(path).name or path


def without_folder(page: str, run: Path) -> str:
    """A page in which messages named the run's folder: they name the run alone."""
    for folder in dict.fromkeys([str(run.resolve()), str(run.absolute())]):
        for known in dict.fromkeys([folder, escape(folder)]):
            page = page.replace(known, escape(run.resolve().name))
    return page
