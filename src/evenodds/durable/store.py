"""Numbered folders, such as checkpoints: the newest sound one, and which of the old ones may go."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from evenodds.durable.disk import told
from evenodds.durable.folders import discard
from evenodds.durable.manifest import fault_of, is_ours
from evenodds.errors import sentences

NAMED = 20  # damaged folders that are told by name


def numbered(parent: Path, prefix: str) -> list[Path]:
    """The folders named prefix and a number (step-00010), highest number first."""
    pattern = re.compile(re.escape(prefix) + r"[0-9]+")
    with told(parent):
        if not parent.is_dir():
            return []
        named = [path for path in parent.iterdir() if pattern.fullmatch(path.name)]
    return sorted(named, key=lambda path: int(path.name.removeprefix(prefix)), reverse=True)


def valid_folders(
    parent: Path,
    prefix: str,
    at_most: int | None = None,
    also: Callable[[Path], str] = lambda folder: "",
) -> tuple[list[Path], list[str]]:
    """The numbered folders whose every file is as it was written, newest first, and what to say.

    What to say is one line that names the damaged ones, or nothing. Reading stops after `at_most`
    good ones: 1 is enough to go on with a run. also: what else is wrong with one whose files are
    as they were; empty if nothing is.
    """
    good: list[Path] = []
    bad: list[str] = []
    for folder in numbered(parent, prefix):
        if len(good) == at_most:
            break
        if fault := fault_of(folder) or also(folder):
            bad.append(fault)
        else:
            good.append(folder)
    more = f"; and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
    told = "; ".join(fault.rstrip(".") for fault in bad[:NAMED]) + more
    return good, [sentences(f"passed over {len(bad)} damaged: {told}")] if bad else []


def prune(parent: Path, prefix: str, keep: int) -> list[Path]:
    """Remove the numbered folders older than the newest `keep` good ones; returns those removed.

    Only good ones are counted, and they are read to know it, so the last good one always stays.
    A folder without our whole manifest, or with a file that it does not list, is never touched.
    """
    every = numbered(parent, prefix)
    if len(every) <= max(1, keep):
        return []
    good, _ = valid_folders(parent, prefix, max(1, keep))
    first = every.index(good[-1]) + 1 if len(good) >= max(1, keep) else len(every)
    old = [folder for folder in every[first:] if is_ours(folder)]
    for folder in old:
        with told(folder):
            discard(folder)
    return old
