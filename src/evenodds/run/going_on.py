"""Which folder a run is written in, and whether it may go on there."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from evenodds.errors import UsageError
from evenodds.run.config import Config, make_config, read_saved
from evenodds.run.durable import SEALS, TEMPORARY
from evenodds.run.folder import RunFolder, fresh_name
from evenodds.run.sealed import config_fault

# how long a run goes on and what it keeps may change when it is taken up again; all else may not
CHANGEABLE = ("steps", "max_time", "save_every", "keep", "memory_gb", "sinks", "root", "name")


def _comparable(config: Config) -> dict[str, Any]:
    data = config.model_dump()
    data["run"] = {k: v for k, v in data["run"].items() if k not in CHANGEABLE}
    data["judge"] = {"seconds": config.judge.seconds}  # the rest is about the machine
    data["learner"].pop("gradient_checkpointing")  # so is this: memory for time
    data.pop("alarms")  # they watch, and change nothing
    data["check"].pop("ignore")  # a run that was refused may go on where it is told to
    return data


def _difference(old: Config, new: Config) -> str | None:
    """The first setting in which two configurations differ, as `section.name: old, new`."""
    before, after = _comparable(old), _comparable(new)
    for section, values in before.items():
        for name, value in values.items():
            if after[section][name] != value:
                return f"{section}.{name} was {value!r}, now {after[section][name]!r}"
    return None


def open_folder(config: Config, now: datetime) -> RunFolder:
    """Where this run is written. Raises `UsageError` if another configuration lives there."""
    root = Path(config.run.root)
    name = config.run.name or fresh_name(config.task.name, config.policy.name, now, root)
    folder = RunFolder.under(root, name)
    if folder.config.exists():
        if fault := config_fault(folder):
            raise UsageError(fault)
        difference = _difference(make_config(read_saved(folder.config)), config)
        if difference:
            raise UsageError(
                f"the run {str(folder.path)!r} has another configuration: {difference}. "
                "Choose another --run.name, or give the same settings."
            )
    elif folder.path.exists() and any(not _is_leftover(p) for p in folder.path.iterdir()):
        raise UsageError(
            f"{str(folder.path)!r} exists and is no run folder. Choose another --run.name."
        )
    return folder


def _is_leftover(path: Path) -> bool:
    """What a kill before the first record may leave in a folder of ours."""
    return path.name in ("lock", SEALS) or TEMPORARY.fullmatch(path.name) is not None
