"""From the JSON of a gold to its databases and its query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

from evenodds.verifiers.json_gold import BadGold, table_of
from evenodds.verifiers.sql.engine import Source

MAX_GOLD = 4_000_000
MAX_DATABASES = 32
_LAYOUT = 'a gold is {"schema": "CREATE …; INSERT …", "query": "SELECT …"}'


@dataclass(frozen=True)
class Gold:
    """The query that is right, and the databases on which it is asked."""

    query: str
    sources: tuple[Source, ...]


@lru_cache(maxsize=1_024)
def read_gold(text: str, folder: str) -> Gold:
    """The gold of a JSON text. folder: where its `db` files lie. Raises `BadGold`."""
    fields = table_of(text, MAX_GOLD, _LAYOUT)
    query = fields.get("query")
    if not isinstance(query, str) or not query.strip():
        raise BadGold(f"it has no query; {_LAYOUT}")
    return Gold(query, _sources(fields, folder))


def _sources(fields: dict[str, object], folder: str) -> tuple[Source, ...]:
    if "db" in fields:
        return (_file(fields["db"], folder),)
    given = fields.get("databases", [fields.get("schema")])
    rows = cast(list[object], given) if isinstance(given, list) else []
    schemas = [row for row in rows if isinstance(row, str)]
    if not 0 < len(schemas) <= MAX_DATABASES or len(schemas) != len(rows):
        raise BadGold(f"it has no schema; {_LAYOUT}")
    return tuple(Source(schema=schema) for schema in schemas)


def _file(name: object, folder: str) -> Source:
    """A database file inside the folder of the policy, and nowhere else."""
    if not folder:
        raise BadGold("it names a file, and the policy `databases` names no folder")
    if not isinstance(name, str) or "\0" in name:
        raise BadGold("its `db` is no name of a file")
    root = Path(folder).resolve()
    path = (root / name).resolve()
    if root not in path.parents or not path.is_file():
        raise BadGold(f"there is no file {name[:80]!r} in the folder of databases")
    return Source(path=str(path))
