"""The rows of a file of data: JSON lines (also zipped), a JSON list, or parquet."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from evenodds.errors import UsageError, check_path

Row = Mapping[str, object]
Table = list[tuple[str, Row]]
"""Rows, each with its place such as `problems.jsonl line 3`."""

ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".parquet")
MAX_BYTES = 4 << 30
"""A zipped file that opens to more is refused: it would fill the memory."""


def read_file(path: Path) -> Table:
    """The rows of a file. Raises `UsageError` in one line for whatever cannot be read, or is empty.

    Columns of a parquet file whose type has no place in JSON, such as times or bytes, are left out.
    """
    require_data(path)
    if is_parquet(path):
        rows = _parquet(path)
    else:
        rows = _array(path) if path.suffix.lower() == ".json" else _lines(path)
    if not rows:
        raise UsageError(f"the data file {path} is empty. Give at least 2 problems.")
    return rows


def require_data(path: Path) -> None:
    """Raise `UsageError` for a file that is not there, or of a kind that is not read."""
    if path.suffix.lower() in (".csv", ".tsv"):
        raise UsageError(f"JSONL or parquet is read, not CSV. Got {path}. Write it as JSONL.")
    if os.path.isfile(path):  # which unlike Path's own raises for no name at all
        return
    if os.path.exists(path):
        what = "a folder" if os.path.isdir(path) else "a device or a pipe"
        raise UsageError(f"{path} is {what}. Give a file, which may be read twice.")
    raise UsageError(f"the data file {str(path)[:300]} does not exist. {check_path(path)}")


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def no_parquet(path: Path, error: Exception) -> UsageError:
    """The error for a file whose name says parquet, and that pyarrow cannot read."""
    what = " ".join(str(error).split())[:200].rstrip(".")
    return UsageError(f"{path} cannot be read as parquet. Got {what}. Write it again.")


def _parquet(path: Path) -> Table:
    import pyarrow.parquet as parquet  # heavy, so imported on use

    try:
        wanted = [
            field.name for field in cast(Any, parquet.read_schema(path)) if _plain(field.type)
        ]
        rows = cast(list[Row], parquet.read_table(path, columns=wanted).to_pylist())
    except Exception as error:  # pyarrow raises many kinds for a damaged file
        raise no_parquet(path, error) from error
    return [(f"{path} row {at}", row) for at, row in enumerate(rows, 1)]


def _plain(kind: Any) -> bool:
    """Whether JSON has a place for values of an arrow type."""
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _plain(kind.value_type)
    if types.is_struct(kind):
        return all(_plain(field.type) for field in kind)
    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    tests = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_string,
        types.is_large_string,
        types.is_null,
        types.is_decimal,
    )
    return any(test(kind) for test in tests)


def _text(path: Path) -> str:
    try:
        if path.suffix.lower() != ".gz":
            return path.read_text(encoding="utf-8-sig")
        with gzip.open(path) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"{path} opens to more than {MAX_BYTES >> 30} GiB. Split it.")
        return data.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as UTF-8 text. Got {error}.") from error


def _lines(path: Path) -> Table:
    lines = _text(path).split("\n")
    return [
        (f"{path} line {at}", _object(f"{path} line {at}", line))
        for at, line in enumerate(lines, 1)
        if line.strip()
    ]


def _array(path: Path) -> Table:
    rows = _json(str(path), _text(path))
    if not isinstance(rows, list):
        raise UsageError(
            f"{path} is no JSON list. Got a {type(rows).__name__}. Write [row, …], or JSON lines."
        )
    return [
        (f"{path} row {at}", _row(f"{path} row {at}", row))
        for at, row in enumerate(cast(list[object], rows), 1)
    ]


def _object(place: str, line: str) -> Row:
    return _row(place, _json(place, line))


def _json(place: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        is_json = isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError)
        what = "holds a number of too many digits: write it as a text" if is_json else "is no JSON"
        raise UsageError(f"{place} {what}. Got {text.strip()[:60]!r}.") from error


def _row(place: str, row: object) -> Row:
    if not isinstance(row, dict):
        raise UsageError(
            f"{place} is no JSON object. Got a {type(row).__name__}. "
            'Write {"prompt": …, "answer": …}.'
        )
    return cast(Row, row)
