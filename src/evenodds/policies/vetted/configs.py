"""config.json: numbers that a model has, and nothing that names code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from evenodds.policies.vetted.files import read_object, refused

DEEPEST = 12  # tables in tables
LARGEST = 10**12
STRUCTURAL = re.compile(r"layer|block|expert|label|head|depth|stage|group|branch|codebook", re.I)
MOST_PARTS = 100_000  # of what a library makes an object of each
DTYPE = re.compile(r"(?:torch\.)?(?:auto|half|double|float|b?float(?:16|32|64)|float8_\w{1,12})")
DTYPES = ("dtype", "torch_dtype")
IMPLEMENTATION = "implementation"
IMPLEMENTATIONS = re.compile(r"(?!flex)[a-z0-9_]{1,40}")
"""Flex attention compiles a program for each shape, which takes minutes on a CPU."""
READ = ("config.json", "generation_config.json")


def require_sane_config(folder: Path, name: str) -> None:
    """Numbers of a size that models have; no code from a repository; a precision that exists."""
    for file in READ:
        for key, value in _leaves(read_object(folder / file, name), name, file):
            why = _fault(key, value)
            if why:
                raise refused(name, f"{file!r} has {key[:60]!r} = {repr(value)[:60]}, {why}")


def _fault(key: str, value: Any) -> str:
    """Why no model has this, or nothing."""
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > LARGEST:
            return f"more than {LARGEST:,}"
        if STRUCTURAL.search(key) and abs(value) > MOST_PARTS:
            return f"more than {MOST_PARTS:,}"
    if key in DTYPES and value is not None and not _is_dtype(value):
        return "which is no precision"
    if key == "eos_token_id" and not isinstance(value, int | None):
        return "which is no id"
    if key.endswith(IMPLEMENTATION) and value is not None and not _is_built_in(value):
        return "which is code from elsewhere"
    return ""


def _is_dtype(value: Any) -> bool:
    return isinstance(value, str) and DTYPE.fullmatch(value) is not None


def _is_built_in(value: Any) -> bool:
    return isinstance(value, str) and IMPLEMENTATIONS.fullmatch(value) is not None


def _leaves(table: Any, name: str, file: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every value with the key that it stands under; of a list each, but of one for a precision."""
    if depth > DEEPEST:
        raise refused(name, f"{file!r} is nested too deep")
    for key, value in cast(dict[str, Any], table).items():
        if key.endswith(IMPLEMENTATION):
            yield key, value
        elif isinstance(value, dict):
            yield from _leaves(value, name, file, depth + 1)
        elif isinstance(value, list) and key not in DTYPES:
            yield from _of_list(key, cast(list[Any], value), name, file, depth + 1)
        else:
            yield key, value


def _of_list(
    key: str, values: list[Any], name: str, file: str, depth: int
) -> Iterator[tuple[str, Any]]:
    for value in values:
        if isinstance(value, dict | list):
            yield from _leaves({key: value}, name, file, depth + 1)
        else:
            yield key, value
