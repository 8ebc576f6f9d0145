"""The rollouts of a step read back, as plain rows or column by column.

Old files without the newer columns are read as if these were null. A damaged file is an error of
one line. pyarrow is imported when the first file is opened.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import RunError
from evenodds.records.columns import ARRAYS, COLUMNS, arrow

Row = dict[str, Any]
NAME = re.compile(r"step-(\d+)\.parquet")


def rollout_files(run: Path) -> dict[int, Path]:
    """The rollout files of a run folder by their step, in order."""
    try:
        names = [(NAME.fullmatch(path.name), path) for path in (run / "rollouts").iterdir()]
    except OSError:
        return {}
    found = {int(match[1]): path for match, path in names if match}
    return dict(sorted(found.items()))


@contextmanager
def told(path: Path) -> Generator[None]:
    """Turn whatever pyarrow says of a file into a `RunError` of one line."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise RunError(
            f"the rollouts of this step are not there. Got {str(path)!r}. Choose another step."
        ) from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        why = " ".join(str(error).split())[:160] or type(error).__name__
        raise RunError(
            f"{str(path)!r} is damaged: {why}. Bring the file back, or choose another step."
        ) from None


@dataclass(frozen=True)
class StepTable:
    """Chosen columns of one step's rollouts; what the file lacks is null."""

    path: Path
    table: Any

    @property
    def rows(self) -> int:
        return self.table.num_rows

    def values(self, name: str) -> list[Any]:
        """A column as Python values; a table of parts as `{name: value}`."""
        found = self.table.column(name).to_pylist()
        return [_parts(parts) for parts in found] if COLUMNS.get(name) == "parts" else found

    def arrays(self, name: str, kind: type[np.generic]) -> list[NDArray[Any] | None]:
        """A column with a number for each token, as an array a row, bit for bit as written."""
        import pyarrow.compute as pc

        with told(self.path):
            column = self.table.column(name).combine_chunks()
            flat = column.flatten()
            if flat.null_count:
                raise ValueError(f"{name} has a null among its numbers")
            lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()  # pyright: ignore
            numbers = flat.to_numpy(zero_copy_only=False).astype(kind)
            known = column.is_valid().to_numpy(zero_copy_only=False)
        pieces = np.split(numbers, np.cumsum(lengths)[:-1]) if len(lengths) else []
        return [piece if there else None for piece, there in zip(pieces, known, strict=True)]

    def plain(self) -> list[Row]:
        """One dictionary a rollout, as JSON could hold it."""
        names = self.table.column_names
        columns = [self.values(name) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _parts(parts: Sequence[Row] | None) -> dict[str, float]:
    """The summands of a reward by name; one without a name or a value says nothing."""
    pairs = ((part["name"], part["value"]) for part in parts or ())
    return {name: value for name, value in pairs if name is not None and value is not None}


def read_table(
    path: Path, columns: Sequence[str] | None = None, group: int | None = None
) -> StepTable:
    """The rollouts in a file, in the order of `group` and `answer`.

    columns: those wanted; default all of `COLUMNS`. group: only the answers of this one. Raises
    `RunError` where the file is missing or damaged.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    wanted = list(COLUMNS if columns is None else columns)
    with told(path), parquet.ParquetFile(path) as file:
        there = set(file.schema_arrow.names)
        if not {"group", "answer"} <= there:
            raise ValueError("it has no columns `group` and `answer`")
        names = [name for name in dict.fromkeys([*wanted, "group", "answer"]) if name in there]
        table = file.read(columns=names)
        if any(table.column(name).null_count for name in ("group", "answer")):
            raise ValueError("a rollout has no number")
        if group is not None:
            table = table.filter(pc.equal(table.column("group"), group))  # pyright: ignore
        made = {
            name: table.column(name).cast(arrow(COLUMNS[name]))
            if name in there
            else pa.nulls(table.num_rows, arrow(COLUMNS[name]))
            for name in wanted
        }
    return StepTable(path, pa.table(made))


def read_rows(
    path: Path, columns: Sequence[str] | None = None, group: int | None = None
) -> list[Row]:
    """The rollouts in a file as plain rows. See `read_table`."""
    return read_table(path, columns, group).plain()


def read_known(
    path: Path, columns: Sequence[str], only: Mapping[str, Sequence[Any]] | None = None
) -> list[Row]:
    """Rows of any parquet file of a run, of rollouts or of an evaluation, as far as they are there.

    columns: those wanted, as far as the file has them. only: by column, values of which a row must
    have one. Nothing where the file is missing or cannot be read, as one that is being written
    cannot.
    """
    from pyarrow import parquet

    with suppress(RunError), told(path):
        names = parquet.read_schema(path).names
        known = [name for name in columns if name in names]
        filters = [(name, "in", list(values)) for name, values in (only or {}).items()]
        return parquet.read_table(path, columns=known, filters=filters or None).to_pylist()
    return []


TEXT = tuple(name for name in COLUMNS if name not in ARRAYS)
"""All columns but those with a number for each token: what a list of answers needs."""
