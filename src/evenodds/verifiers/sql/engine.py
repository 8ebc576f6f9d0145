"""Running one query that only reads, on a database of its own, within limits.

SQLite's authorizer refuses all but reading the database's own tables; its limits bound the size
of values and of the query, its progress handler the steps, its heap limit the memory.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

from evenodds.verifiers.sql.functions import ALLOWED, Cell, install
from evenodds.verifiers.sql.words import objection

Row = tuple[Cell, ...]

MAX_QUERY = 20_000
MAX_SCHEMA = 4_000_000
LENGTH = 200_000
BYTES = 20_000_000
"""The most bytes of text that the rows of a result may hold together."""
_STRIDE = 100
"""Steps between two looks at the clock: one step can be a search through `LENGTH` bytes."""
_FAILURES = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError)
_VIRTUAL = ("json_each", "json_tree")
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LENGTH,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_QUERY,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


@dataclass(frozen=True)
class Source:
    """A database: the statements that make it, or the path of a file."""

    schema: str = ""
    path: str = ""


@dataclass(frozen=True)
class Bounds:
    """What a query may cost."""

    steps: int
    seconds: float
    rows: int
    memory_mb: int


@dataclass(frozen=True)
class Result:
    """The rows of a query, and whether it read any table of the database."""

    rows: tuple[Row, ...]
    reads: bool


@dataclass(frozen=True)
class Failed:
    """A query that gave no result, and why."""

    note: str


@dataclass
class _Guard:
    """Watches one query: what it reads, and how long it runs."""

    tables: frozenset[str]
    bounds: Bounds
    reads: bool = False
    calls: int = 0
    stopped: str = ""
    end: float = field(default=0.0)

    def authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ:
            return self._read(first or "", second or "")
        if action == sqlite3.SQLITE_FUNCTION:
            is_known = (second or "").lower() in ALLOWED
            return sqlite3.SQLITE_OK if is_known else sqlite3.SQLITE_DENY
        is_known = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        return sqlite3.SQLITE_OK if is_known else sqlite3.SQLITE_DENY

    def _read(self, table: str, column: str) -> int:
        """Without a column only rows are counted, be it those of a WITH."""
        is_own = table.lower() in self.tables
        self.reads = self.reads or is_own
        is_fine = is_own or not column or table.lower() in _VIRTUAL
        return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY

    def tick(self) -> int:
        """Called every few steps; anything but 0 ends the query."""
        self.calls += 1
        if self.calls * _STRIDE > self.bounds.steps:
            self.stopped = f"it took more than {self.bounds.steps} steps"
        elif time.monotonic() > self.end:
            self.stopped = f"it took more than {self.bounds.seconds:g} seconds"
        return int(bool(self.stopped))


def run(source: Source, query: str, bounds: Bounds, most_rows: int) -> Result | Failed:
    """The rows of the query on a fresh database, or why there are none. Never raises.

    most_rows: one more is enough to see that there are too many.
    """
    against = _refusal(query)
    if against:
        return Failed(against)
    guard: _Guard | None = None
    try:
        with _opened(source, bounds) as database:
            guard = _Guard(_tables(database), bounds, end=time.monotonic() + bounds.seconds)
            _lock(database, guard)
            rows = _fetched(database, query, most_rows)
    except _FAILURES as error:
        return Failed((guard.stopped if guard else "") or _described(error))
    return rows if isinstance(rows, Failed) else Result(rows, guard.reads)


def _refusal(query: str) -> str | None:
    if len(query) > MAX_QUERY:
        return f"a query of {len(query)} characters is not read"
    return objection(query)


def _described(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "it took more memory than it may"
    return f"SQLite says: {' '.join(str(error).split())[:200]}"


def _tables(database: sqlite3.Connection) -> frozenset[str]:
    names = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return frozenset(str(name).lower() for (name,) in names)


def _lock(database: sqlite3.Connection, guard: _Guard) -> None:
    # a virtual table is declared when it is first used, which the authorizer would refuse
    for name in _VIRTUAL:
        database.execute(f"SELECT 1 FROM {name}('[]')").close()
    database.execute(f"PRAGMA hard_heap_limit = {guard.bounds.memory_mb * 1_000_000}").close()
    database.text_factory = _text
    install(database)
    for category, limit in _LIMITS.items():
        database.setlimit(category, limit)
    database.set_authorizer(guard.authorize)
    database.set_progress_handler(guard.tick, _STRIDE)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _fetched(database: sqlite3.Connection, query: str, most_rows: int) -> tuple[Row, ...] | Failed:
    rows: list[Row] = []
    size = 0
    with closing(database.execute(query)) as cursor:
        for row in cursor:
            rows.append(row)
            size += sum(len(cell) for cell in row if isinstance(cell, (str, bytes)))
            if len(rows) > most_rows:
                return Failed(f"it has more than {most_rows} rows")
            if size > BYTES:
                return Failed(f"its rows hold more than {BYTES} bytes")
    return tuple(rows)


@contextmanager
def _opened(source: Source, bounds: Bounds) -> Generator[sqlite3.Connection]:
    if source.path:
        name = f"file:{quote(source.path)}?mode=ro&immutable=1"
        database = sqlite3.connect(name, uri=True, isolation_level=None)
    else:
        database = sqlite3.connect(":memory:", isolation_level=None)
    with closing(database):
        if source.schema:
            database.deserialize(_snapshot(source.schema, bounds))
        database.execute("PRAGMA temp_store = MEMORY").close()
        yield database


@lru_cache(maxsize=256)
def _snapshot(schema: str, bounds: Bounds) -> bytes:
    """The database that the statements make, made once. They may not touch a file either."""
    if len(schema) > MAX_SCHEMA:
        raise ValueError(f"a schema of {len(schema)} characters is not read")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        guard = _Guard(frozenset(), bounds, end=time.monotonic() + 10 * bounds.seconds)
        database.set_authorizer(_allow_making)
        database.set_progress_handler(guard.tick, _STRIDE)
        database.executescript(schema)
        database.set_authorizer(None)
        return database.serialize()


def _allow_making(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Everything but other files, other settings, and functions from outside."""
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_IGNORE  # dumps begin with settings; they are skipped
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION:
        is_known = (second or "").lower() in {*ALLOWED, "random", "randomblob", "last_insert_rowid"}
        return sqlite3.SQLITE_OK if is_known else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
