"""Which folder a run is written in, and whether it may go on there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from evenodds.durable import SEALS, TEMPORARY
from evenodds.errors import UsageError
from evenodds.records.plain import require_plain
from evenodds.run.config import Config, make_config, read_saved
from evenodds.run.folder import RunFolder, fresh_name, require_own_place, require_writable
from evenodds.run.lock import RunLock
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
                was, now = (
                    "not set" if v is None else repr(v) for v in (value, after[section][name])
                )
                return f"{section}.{name} was {was}, now {now}"
    return None


def open_folder(config: Config, now: datetime) -> RunFolder:
    """Where this run is written. Raises `UsageError` if another configuration lives there."""
    root = Path(config.run.root)
    name = config.run.name or fresh_name(config.task.name, config.policy.name, now, root)
    folder = RunFolder.under(root, name)
    require_own_place(folder.path)
    require_writable(folder.path)
    if folder.config.exists():
        require_plain(folder.path)
        if fault := config_fault(folder):
            raise UsageError(fault)
        difference = _difference(make_config(read_saved(folder.config)), config)
        if difference:
            raise UsageError(
                f"the run {str(folder.path)!r} has another configuration: {difference}. "
                "Choose another --run.name, or give the same settings."
            )
    elif folder.path.is_dir() and any(not _is_leftover(p) for p in folder.path.iterdir()):
        raise UsageError(
            f"{str(folder.path)!r} exists and is no run folder. Choose another --run.name."
        )
    return folder


Seen = tuple[tuple[int, int], ...]
"""When what says how far a run is was last written, and how long it is; empty for a new run."""

TRIES = 100  # names that a run without one tries where others begin at the same moment


def seen(folder: RunFolder) -> Seen:
    """How a run looks now, so that what another process does to it meanwhile is noticed."""
    files = (folder.config, folder.engine, folder.metrics)
    found = [path.stat() for path in files if path.exists()]
    return tuple((one.st_mtime_ns, one.st_size) for one in found)


@contextmanager
def held(config: Config, folder: RunFolder, before: Seen) -> Generator[RunFolder]:
    """The run with its lock, which is taken once its model is there; before: as it was first seen.

    Raises `UsageError` where another process holds it, or has begun it or gone on with it since
    then: what was checked against its folder holds no more. A run that was given no name takes
    another one instead.
    """
    with ExitStack() as stack:
        for left in reversed(range(TRIES)):
            try:
                stack.enter_context(RunLock(folder.path))
                _require_as_before(folder, before)
                break
            except UsageError:
                if config.run.name is not None or not left:
                    raise
            stack.close()
            folder = open_folder(config, datetime.now())
            before = seen(folder)
        yield folder


def _require_as_before(folder: RunFolder, before: Seen) -> None:
    if seen(folder) != before:
        raise UsageError(
            f"another process has worked on the run {str(folder.path)!r} meanwhile. "
            "Give the same command again to go on with it, or choose another --run.name."
        )


def _is_leftover(path: Path) -> bool:
    """What a kill before the first record may leave in a folder of ours; folders without a file."""
    if path.name in ("lock", SEALS) or TEMPORARY.fullmatch(path.name) is not None:
        return True
    is_folder = path.is_dir() and not path.is_symlink()
    return is_folder and all(below.is_dir() for below in path.rglob("*"))
