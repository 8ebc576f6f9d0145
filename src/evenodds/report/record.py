"""A run folder read back: tolerant of what is missing, cut off or not written yet."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evenodds.errors import UsageError
from evenodds.records.groups import FILE as GROUPS
from evenodds.records.lines import by_step, read_object, rows_of, step_of
from evenodds.report.comparison import Comparison, compare
from evenodds.report.sound import is_evaluation

PASSPORTS = ("data", "checker", "objective", "environment")
ALARMS = "alarms.jsonl"


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
        rows = [row for row in rows_of(self.folder / ALARMS) if step_of(row) is not None]
        found = {(row["step"], str(row.get("name"))): row for row in rows}
        return sorted(found.values(), key=lambda row: row["step"])

    @cached_property
    def groups(self) -> list[dict[str, Any]]:
        """What each group of each step was; empty where the run did not write it down."""
        return by_step(self.folder / GROUPS)

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
    return replace(read_frame(folder), metrics=by_step(folder / "metrics.jsonl"))


def read_frame(folder: Path) -> RunRecord:
    """The run but for its metrics, which the caller follows. Raises `UsageError` for no run."""
    config = folder / "config.toml"
    if not config.is_file():
        raise UsageError(
            f"no run lies there. Got {str(folder)!r}. Name a folder that holds a config.toml."
        )
    files = {name: folder / "evaluation" / f"{name}.json" for name in ("base", "final")}
    found = {name: _evaluation(path) for name, path in files.items()}
    return RunRecord(
        folder=folder,
        config=read_config(folder),
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
    file = f"{name}.json"
    return read_object(folder / "passports" / file) or read_object(folder / file)


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a run, empty where it cannot be read."""
    try:
        return tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def _evaluation(path: Path) -> dict[str, Any] | None:
    found = read_object(path)
    return found if is_evaluation(found) else None
