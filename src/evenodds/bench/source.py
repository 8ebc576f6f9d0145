"""The rows of a JSONL or parquet file one after another, and a first look over all of them."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenodds.errors import UsageError
from evenodds.tasks.rows import is_parquet, no_parquet, read_file, require_data

BATCH = 256  # rows of a parquet file in memory
MOST_DIGITS = 4_000
"""A whole number of more digits is kept as text: Python refuses to read and to write it."""


@dataclass(frozen=True)
class Unreadable:
    """A row that is none, and why."""

    why: str


_NO_PYTHON = (ValueError, OverflowError)
"""What pyarrow raises for a value that Python cannot hold; a text that is no UTF-8 as well."""

Found = tuple[int, dict[str, Any] | Unreadable]


@dataclass
class Survey:
    """What a first look found: rows that can be read, their columns, and those that cannot."""

    rows: int = 0
    columns: dict[str, None] = field(default_factory=dict[str, None])
    bad: int = 0
    first: tuple[int, str] | None = None


def survey(path: Path) -> Survey:
    """Look over all rows. Raises `UsageError` for a file that cannot be read, or is empty."""
    found = Survey()
    for number, row in rows_of(path):
        if isinstance(row, Unreadable):
            found.bad += 1
            found.first = found.first or (number, row.why)
        else:
            found.rows += 1
            found.columns |= dict.fromkeys(row)
    if not found.rows and not found.bad:
        raise UsageError(f"the file {path} is empty. Give it rows with an answer and a gold.")
    return found


def rows_of(path: Path) -> Iterator[Found]:
    """Each row with its number: of the line in a JSONL file, else from 1.

    The files that a task takes: JSONL, also zipped, a JSON list, or parquet.
    """
    require_data(path)
    if is_parquet(path):
        return _parquet(path)
    return _listed(path) if path.suffix.lower() == ".json" and _is_list(path) else _jsonl(path)


def _is_list(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(1_000).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _listed(path: Path) -> Iterator[Found]:
    """The rows of a JSON list, which is read as a whole."""
    yield from ((number, dict(row)) for number, (_, row) in enumerate(read_file(path), 1))


def _jsonl(path: Path) -> Iterator[Found]:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield number, _parsed(line)
    except (OSError, EOFError, zlib.error) as error:  # the last two: of a damaged zipped file
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be read. Got {why}. Check it.") from error


def _parsed(line: bytes) -> dict[str, Any] | Unreadable:
    """The object in a line. Bytes that are no UTF-8 become U+FFFD: they may stand in an answer."""
    try:
        row = json.loads(line.decode("utf-8", "replace"), parse_int=_whole)
    except RecursionError:
        return Unreadable("it is nested too deeply")
    except ValueError:
        return Unreadable("it is no JSON")
    if not isinstance(row, dict):
        return Unreadable(f"it is no JSON object but a {type(row).__name__}")
    return cast(dict[str, Any], row)


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


def _parquet(path: Path) -> Iterator[Found]:
    import pyarrow.parquet as parquet  # heavy, so imported on use

    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                columns = [_values(column) for column in cast(list[Any], batch.columns)]
                for values in zip(*columns, strict=True):
                    number += 1
                    yield number, dict(zip(batch.schema.names, values, strict=True))
    except Exception as error:  # pyarrow raises many kinds for a damaged file
        raise no_parquet(path, error) from error


def _values(column: Any) -> list[Any]:
    try:
        return column.to_pylist()
    except _NO_PYTHON:
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> object:
    """A value, or its text where Python has no such value: a nanosecond, a date far off.

    Bytes in a text that are no UTF-8 become U+FFFD, as in a JSONL file.
    """
    import pyarrow

    try:
        return scalar.as_py()
    except _NO_PYTHON:
        if isinstance(scalar, pyarrow.StringScalar | pyarrow.LargeStringScalar):
            return scalar.as_buffer().to_pybytes().decode("utf-8", "replace")
        return scalar.cast(pyarrow.string()).as_py()
