"""The `sql` verifier: does a query give the rows that the gold query gives.

Both run on a database of their own in memory that nothing can be written to, within limits on
steps, rows and memory. Rows are compared, not the text of the queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import reasoning
from evenodds.verifiers.fences import program_of
from evenodds.verifiers.json_gold import BadGold
from evenodds.verifiers.kind import Kind
from evenodds.verifiers.sql.engine import LENGTH, MAX_QUERY, Bounds, Failed, Result, Source, run
from evenodds.verifiers.sql.gold import Gold, read_gold
from evenodds.verifiers.sql.rows import difference
from evenodds.verifiers.sql.words import is_ordered
from evenodds.verifiers.verdicts import final_text, gold_unreadable, paid, unpaid

LANGUAGES = ("sql", "sqlite", "sqlite3")


@dataclass(frozen=True)
class Policy:
    """How rows are compared, and what a query may cost.

    order: `gold` compares the order of rows where the gold query has ORDER BY at its top level;
    `always` and `never` whatever the gold says. Where the gold's ORDER BY leaves ties, a right
    query may order them in another way: hold golds to a full order, or use `never`.
    reads: a query that reads no table is not paid where the gold reads one, so that `SELECT 42` is
    not, though its rows are right on this data. `SELECT 42 FROM t` is caught by several databases.
    tolerance: relative, for numbers of which one at least is a REAL.
    steps: instructions of SQLite's machine that a query may take. seconds: its time on the wall.
    rows: the most rows that a gold may have. memory_mb: SQLite's memory in this process.
    databases: the folder in which a gold's `db` files lie; without it such golds are not read.
    """

    order: Literal["gold", "always", "never"] = "gold"
    reads: bool = True
    tolerance: Annotated[float, Ge(0), Le(1)] = 1e-6
    steps: Annotated[int, Gt(0)] = 5_000_000
    seconds: Annotated[float, Gt(0)] = 2.0
    rows: Annotated[int, Ge(0)] = 10_000
    memory_mb: Annotated[int, Gt(0)] = 256
    databases: str = ""


DEFAULT = Policy()


def sql(problem: Problem, completion: Completion, policy: Policy = DEFAULT) -> Verdict:
    """Pays 1 for a query whose rows are the gold query's on every database of the gold; else 0.

    The query is what stands in the last answer tags or the last `sql` fence, else the whole text
    after the reasoning. Names of columns do not count, their order does. NULL equals NULL, 1
    equals 1.0, and neither equals '1'. A query that is refused, fails, or costs more than the
    limits is wrong, with a note. One that the budget cut is read only from a closed fence or
    closed tags. Never raises.
    """
    try:
        gold = read_gold(problem.answer, policy.databases)
    except BadGold as error:
        return gold_unreadable(str(error))
    final = final_text(completion)
    if isinstance(final, Verdict):
        return final
    found = program_of(final, LANGUAGES)
    query = found.text.strip("; \t\r\n")
    if completion.stop is Stop.BUDGET and not found.is_closed:
        return unpaid(completion, Status.TRUNCATED, "cut before the query was complete")
    if not query:
        return unpaid(completion, Status.NO_ANSWER, f"{found.how}; no query was found")
    return _compared(completion, gold, query, found.how, policy)


def _compared(completion: Completion, gold: Gold, query: str, how: str, policy: Policy) -> Verdict:
    ordered = policy.order == "always" or (policy.order == "gold" and is_ordered(gold.query))
    bounds = Bounds(policy.steps, policy.seconds, policy.rows, policy.memory_mb)
    for number, source in enumerate(gold.sources, 1):
        wanted = _gold_rows(source, gold.query, bounds)
        if isinstance(wanted, Failed):
            return gold_unreadable(f"its query on database {number}: {wanted.note}")
        against = _objection(source, query, wanted, bounds, ordered, policy)
        if against is not None:
            place = f" on database {number} of {len(gold.sources)}" if len(gold.sources) > 1 else ""
            return unpaid(completion, Status.WRONG, f"{how}; {against}{place}", query)
    kind = "rows in order" if ordered else "rows in any order"
    return paid(completion, query, f"{how}; the same {kind}")


def _objection(
    source: Source, query: str, wanted: Result, bounds: Bounds, ordered: bool, policy: Policy
) -> str | None:
    """Why the query is wrong on one database; None where it is right."""
    found = run(source, query, bounds, len(wanted.rows))
    if isinstance(found, Failed):
        return found.note
    if policy.reads and wanted.reads and not found.reads:
        return "it reads no table, and the gold does"
    return difference(found.rows, wanted.rows, ordered, policy.tolerance)


class _NoRows(Exception):
    """A gold query that failed. It is raised, for what fails once is not kept."""


def _gold_rows(source: Source, query: str, bounds: Bounds) -> Result | Failed:
    """The rows of the gold query: worked out once, but for a file, which may change."""
    if source.path:
        return run(source, query, bounds, bounds.rows)
    try:
        return _kept_rows(source, query, bounds)
    except _NoRows as error:
        return Failed(str(error))


@lru_cache(maxsize=1_024)
def _kept_rows(source: Source, query: str, bounds: Bounds) -> Result:
    found = run(source, query, bounds, bounds.rows)
    if isinstance(found, Failed):
        raise _NoRows(found.note)
    return found


KIND = Kind(
    name="sql",
    summary="a SQLite query: the gold query's rows, on databases that cannot be written to",
    gold='JSON {"schema": "CREATE …; INSERT …", "query": "SELECT …"}; "databases": [schema, …] '
    'for several; "db": file with the policy `databases`',
    judge=sql,
    policy=DEFAULT,
    gold_is="table",
    runs="worker",
    limits={
        "characters_read": reasoning.MAX_CHARACTERS,
        "characters_of_a_query": MAX_QUERY,
        "bytes_of_a_value": LENGTH,
        "steps": DEFAULT.steps,
        "rows": DEFAULT.rows,
        "memory_mb": DEFAULT.memory_mb,
    },
    seconds=10.0,
)

__all__ = ["KIND", "Policy", "sql"]
