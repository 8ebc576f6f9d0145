"""A folder is made whole or not at all, and what a crash left half way is undone."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from evenodds.durable.disk import (
    ASIDE,
    TEMPORARY,
    flush_folder,
    remove,
    temporary,
    told,
)
from evenodds.durable.manifest import fault_of, files_in, is_ours, seal
from evenodds.errors import RunError
from evenodds.machine import explain, system_reason


def discard(folder: Path) -> None:
    """Remove a folder; the rename first, so that a crash leaves no half of it under its name."""
    doomed = temporary(folder.parent)
    os.replace(folder, doomed)
    remove(doomed)


def restore(target: Path) -> None:
    """Undo a replacement that a crash stopped half way; clear what a finished one left."""
    aside = target.with_name(ASIDE + target.name)
    if not is_ours(aside):
        return
    if not os.path.lexists(target):
        os.replace(aside, target)
        flush_folder(target.parent)
    elif not fault_of(target):
        discard(aside)


def _make_way(target: Path) -> None:
    """Free the name and delete nothing: ours waits aside for the new one, others are kept apart."""
    if os.path.lexists(target):
        aside = target.with_name(ASIDE + target.name)
        apart = target.with_name(f"{target.name}.kept-{secrets.token_hex(4)}")
        if os.path.lexists(aside):  # left by _restore: not ours, or better than a damaged target
            os.replace(aside, aside.with_name(apart.name + "-old"))
        os.replace(target, aside if is_ours(target) else apart)


def _written(folder: Path) -> int:
    with suppress(OSError):
        return sum(path.lstat().st_size for path in files_in(folder))
    return 0


def _fill_and_rename(beside: Path, target: Path, fill: Callable[[Path], None]) -> None:
    restore(target)
    beside.mkdir()
    fill(beside)
    seal(beside)
    _make_way(target)
    os.replace(beside, target)
    flush_folder(target.parent)


def commit_folder(target: Path, fill: Callable[[Path], None], needed: int = 0) -> None:
    """Make a folder whole or not at all: `fill` writes into a temporary one beside the target.

    When this returns, the folder is on the disk with its manifest. An older folder of that name
    stays until the new one is in its place. `needed`: the expected size in bytes, for the message.
    """
    beside = temporary(target.parent)
    try:
        _fill_and_rename(beside, target, fill)
    except BaseException as error:
        told_why = explain(error, target, max(needed, _written(beside)))
        remove(beside)
        with suppress(OSError):
            restore(target)
        if isinstance(error, Exception) and system_reason(error) is not None:
            raise RunError(told_why) from error
        raise
    with suppress(OSError):
        restore(target)


def recover(parent: Path) -> None:
    """Clear what a crash left in a folder. Call it at the start, with the run's lock held.

    Temporary files and folders of our own pattern go, and a replacement that was stopped half way
    is undone. Nothing else is touched.
    """
    with told(parent):
        for path in sorted(parent.iterdir()) if parent.is_dir() else []:
            if TEMPORARY.fullmatch(path.name):
                remove(path)
            elif path.name.startswith(ASIDE) and path.name[len(ASIDE) :].strip("."):
                restore(path.with_name(path.name[len(ASIDE) :]))
