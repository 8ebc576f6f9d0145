"""A run folder read back: tolerant of what is missing, cut off or not written yet."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evenodds.errors import UsageError
from evenodds.report.comparison import Comparison, compare
from evenodds.report.sound import is_evaluation

PASSPORTS = ("data", "checker", "objective", "environment")
ALARMS, GROUPS = "alarms.jsonl", "groups.jsonl"


@dataclass(frozen=True)
class RunRecord:
    """What a run folder says. An evaluation is None where it was not made, or not yet."""

    folder: Path
    config: Mapping[str, Mapping[str, Any]]
    passports: Mapping[str, Mapping[str, Any]]
    metrics: list[dict[str, Any]]
    base: dict[str, Any] | None
    final: dict[str, Any] | None
    unreadable: tuple[str, ...] = ()  # evaluations that are there, but say nothing

    @cached_property
    def comparison(self) -> Comparison | None:
        if self.base is None or self.final is None:
            return None
        return compare(self.base, self.final)

    @cached_property
    def alarms(self) -> list[dict[str, Any]]:
        """The alarms that began, in order; a run without the file had none that is known."""
        found = {(row["step"], row.get("name")): row for row in json_lines(self.folder / ALARMS)}
        return sorted(found.values(), key=lambda row: int(row["step"]))

    @cached_property
    def groups(self) -> list[dict[str, Any]]:
        """What each group of each step was; empty where the run did not write it down."""
        return _lines(self.folder / GROUPS)

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def shown_path(self) -> str:
        """The folder as the run's configuration names it, wherever the report is written from."""
        return os.fspath(Path(str(self.setting("run", "root") or "runs")) / self.name)

    def setting(self, section: str, key: str) -> Any:
        """A value of the config, None where it has none."""
        found = self.config.get(section)
        return found.get(key) if isinstance(found, Mapping) else None

    @property
    def levels(self) -> tuple[str, ...]:
        """Labels of the levels, as far as an evaluation names them without a gap."""
        found = (self.base or self.final or {}).get("levels", [])
        labels = {int(item["level"]): str(item.get("label", "")) for item in found}
        complete = sorted(labels) == list(range(len(labels)))
        return tuple(labels[level] for level in range(len(labels))) if complete else ()


def read_run(folder: Path) -> RunRecord:
    """Raises `UsageError` where the folder is no run."""
    return replace(read_frame(folder), metrics=_lines(folder / "metrics.jsonl"))


def read_frame(folder: Path) -> RunRecord:
    """The run without its metrics, for who follows these. Raises `UsageError` where it is none."""
    config = folder / "config.toml"
    if not config.is_file():
        raise UsageError(
            f"no run lies there. Got {str(folder)!r}. Name a folder that holds a config.toml."
        )
    files = {name: folder / "evaluation" / f"{name}.json" for name in ("base", "final")}
    found = {name: _evaluation(path) for name, path in files.items()}
    return RunRecord(
        folder=folder,
        config=_toml(config),
        passports={name: _passport(folder, name) for name in PASSPORTS},
        metrics=[],
        base=found["base"],
        final=found["final"],
        unreadable=tuple(
            f"evaluation/{name}.json"
            for name, path in files.items()
            if found[name] is None and path.exists()
        ),
    )


def _passport(folder: Path, name: str) -> dict[str, Any]:
    return _json(folder / "passports" / f"{name}.json") or _json(folder / f"{name}.json") or {}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _evaluation(path: Path) -> dict[str, Any] | None:
    found = _json(path)
    return found if found is not None and is_evaluation(found) else None


def _lines(path: Path) -> list[dict[str, Any]]:
    """Steps in order; of a step that was repeated after a resume, the last."""
    rows = {int(row["step"]): row for row in json_lines(path)}
    return [rows[step] for step in sorted(rows)]


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The lines that have a step, in the order of the file; torn ones are left out."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
            int(row["step"])
        except (ValueError, TypeError, KeyError, OverflowError):
            continue
        found.append(row)
    return found
