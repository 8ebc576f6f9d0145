"""Data sets of the Hugging Face hub by name, through the library `datasets` where it is there."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any, cast

from evenodds.errors import UsageError
from evenodds.own import FAILURES, described, quiet
from evenodds.tasks.rows import Row, Table

PREFIX = "hf:"


def is_hub(name: str) -> bool:
    """Whether `data` names a data set of the hub: `hf:owner/name`."""
    return name.startswith(PREFIX)


def read_hub(data: str, subset: str | None, split: str) -> Table:
    """The rows of a split of a data set of the hub.

    Nothing of the data set's own code is run: `trust_remote_code` stays off. Raises `UsageError`
    with what to do where the library is missing, the hub cannot be reached, or there is no such
    data set, subset or split.
    """
    name = data.removeprefix(PREFIX)
    library = _library(data)
    try:
        with quiet():
            found: Any = library.load_dataset(name, subset, split=split)
            rows = [dict(row) for row in cast(Iterable[Row], found)]
    except FAILURES as error:  # the library raises many kinds, of the network and its own
        raise UsageError(
            f"the data set {data!r} (subset {subset}, split {split}) could not be loaded. "
            f"Got {described(error)}. Check its name, task.subset and task.split; without a "
            "network, save it as JSONL or parquet elsewhere and give that file."
        ) from error
    if not rows:
        raise UsageError(f"the split {split!r} of {data!r} is empty. Name another by task.split.")
    return [(f"{data} {split} row {at}", row) for at, row in enumerate(rows, 1)]


def _library(data: str) -> ModuleType:
    try:
        return importlib.import_module("datasets")
    except ImportError as error:
        raise UsageError(
            f"{data!r} is a data set of the hub, which needs the library `datasets`. Got none. "
            "Install it: pip install 'evenodds[hub]', or give a JSONL or parquet file."
        ) from error
