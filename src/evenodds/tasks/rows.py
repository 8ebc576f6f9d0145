"""The rows of a JSONL or parquet file, and which of its columns are the prompt and the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from evenodds.errors import UsageError, nearest
from evenodds.tasks.task import TaskOptions

PROMPT_COLUMNS = ("prompt", "question", "problem")
ANSWER_COLUMNS = ("answer", "solution", "gold")
LEVEL_COLUMNS = ("level", "difficulty")

Row = Mapping[str, object]


@dataclass(frozen=True)
class Columns:
    """The names of the columns that make a problem; no level where the file has none."""

    prompt: str
    answer: str
    level: str | None


def read_rows(path: Path, options: TaskOptions) -> tuple[Columns, list[tuple[str, Row]]]:
    """The columns of a JSONL or parquet file, and its rows, each with its place such as `line 3`.

    Of a parquet file only the columns that are needed are read. Raises `UsageError` in one line
    for whatever cannot be read, an empty file and a missing column.
    """
    if path.suffix.lower() in (".csv", ".tsv"):
        raise UsageError(f"JSONL or parquet is read, not CSV. Got {path}. Write it as JSONL.")
    if not path.is_file():
        raise UsageError(f"the data file {path} does not exist. Check the path.")
    columns, rows = (_parquet if path.suffix == ".parquet" else _jsonl)(path, options)
    if columns is None or not rows:
        raise UsageError(f"the data file {path} is empty. Give at least 2 problems.")
    return columns, rows


Table = tuple[Columns | None, list[tuple[str, Row]]]


def _parquet(path: Path, options: TaskOptions) -> Table:
    import pyarrow.parquet as parquet  # heavy, so imported on use

    try:
        columns = _columns(path, [*parquet.read_schema(path).names], options)
        wanted = {columns.prompt, columns.answer, *([columns.level] if columns.level else [])}
        rows = cast(list[Row], parquet.read_table(path, columns=sorted(wanted)).to_pylist())
    except UsageError:
        raise
    except Exception as error:  # pyarrow raises many kinds for a damaged file
        what = " ".join(str(error).split())[:200]
        raise UsageError(f"{path} is no parquet file. Got {what}. Write it again.") from error
    return columns, [(f"row {at}", row) for at, row in enumerate(rows, 1)]


def _jsonl(path: Path, options: TaskOptions) -> Table:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as UTF-8 text. Got {error}.") from error
    rows = [
        (f"line {at}", _json_row(path, at, line))
        for at, line in enumerate(lines, 1)
        if line.strip()
    ]
    return _columns(path, [*rows[0][1]], options) if rows else None, rows


def _json_row(path: Path, at: int, line: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        is_json = isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError)
        what = "holds a number of too many digits: write it as a text" if is_json else "is no JSON"
        raise UsageError(f"{path} line {at} {what}. Got {line.strip()[:60]!r}.") from error
    if not isinstance(row, dict):
        raise UsageError(
            f"{path} line {at} is no JSON object. Got a {type(row).__name__}. "
            'Write {"prompt": …, "answer": …}.'
        )
    return cast(Row, row)


def _columns(path: Path, names: Sequence[str], options: TaskOptions) -> Columns:
    level = next((name for name in LEVEL_COLUMNS if name in names), None)
    if options.level_column:
        level = _column(path, names, (options.level_column,), "level")
    prompts = (options.prompt_column,) if options.prompt_column else PROMPT_COLUMNS
    answers = (options.answer_column,) if options.answer_column else ANSWER_COLUMNS
    return Columns(
        _column(path, names, prompts, "prompt"), _column(path, names, answers, "answer"), level
    )


def _column(path: Path, names: Sequence[str], wanted: Sequence[str], role: str) -> str:
    found = next((name for name in wanted if name in names), None)
    if found is not None:
        return found
    word = wanted[0]
    hint = nearest(word, names) if names else "It has no columns."
    raise UsageError(f"{path} has no {role} column {word!r}. {hint} Name it with --task.{role}.")
