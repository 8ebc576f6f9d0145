"""Cases of the kind `sql`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from evenodds.bench.case import Case, asked, made
from evenodds.bench.hostile import hostile_sizes
from evenodds.domain import Problem, Stop

SCHEMA = """CREATE TABLE city (name TEXT, country TEXT, people INTEGER);
INSERT INTO city VALUES ('Oslo', 'Norway', 700), ('Bergen', 'Norway', 280), ('Rome', 'Italy', 2800),
('Milan', 'Italy', 1400), ('Bern', 'Switzerland', 130);
CREATE TABLE river (name TEXT, city TEXT);
INSERT INTO river VALUES ('Tiber', 'Rome'), ('Aare', 'Bern'), ('Akerselva', 'Oslo');
"""
QUERY = "SELECT country, SUM(people) FROM city GROUP BY country"
PROMPT = "How many people live in the cities of each country?"
RIGHT = (
    QUERY,
    f"{QUERY};",
    f"```sql\n{QUERY};\n```",
    f"<answer>{QUERY}</answer>",
    f"<think>SUM, not COUNT.</think>\n```sql\n{QUERY}\n```",
    "select c.country as land, sum(c.people) as total from city as c group by c.country",
    "SELECT country, TOTAL(people) FROM city GROUP BY 1",
    "WITH s AS (SELECT * FROM city) SELECT country, SUM(people) FROM s GROUP BY country",
    f"{QUERY} ORDER BY 2 DESC",
)
WRONG = {
    "one country less": f"{QUERY} HAVING SUM(people) > 200",
    "columns exchanged": "SELECT SUM(people), country FROM city GROUP BY country",
    "a column less": "SELECT SUM(people) FROM city GROUP BY country",
    "a column more": "SELECT country, SUM(people), 1 FROM city GROUP BY country",
    "counted": "SELECT country, COUNT(*) FROM city GROUP BY country",
    "not grouped": "SELECT country, people FROM city",
    "twice": f"{QUERY} UNION ALL {QUERY}",
    "everything": "SELECT * FROM city",
    "nothing": "",
    "a semicolon": ";",
    "no rows": f"{QUERY} LIMIT 0",
    "a comment": f"-- {QUERY}",
    "constants": "SELECT 'Norway', 980 UNION SELECT 'Italy', 4200 UNION SELECT 'Switzerland', 130",
    "values": "VALUES ('Norway', 980), ('Italy', 4200), ('Switzerland', 130)",
    "text for numbers": "SELECT country, CAST(SUM(people) AS TEXT) FROM city GROUP BY country",
    "no SQL": "The sums are 980, 4200 and 130.",
    "not it": f"NOT {QUERY}",
    "only in the reasoning": f"<think>```sql\n{QUERY}\n```</think>",
    "a wrong one after it": f"```sql\n{QUERY}\n```\n```sql\nSELECT 1\n```",
    "two statements": f"{QUERY}; SELECT 1",
    "drop": "DROP TABLE city",
    "drop, then ask": f"DROP TABLE river; {QUERY}",
    "write": "INSERT INTO city VALUES ('X', 'Y', 1)",
    "delete": "DELETE FROM city",
    "attach": "ATTACH DATABASE '/tmp/evenodds-bench.db' AS other",
    "vacuum into": "VACUUM INTO '/tmp/evenodds-bench.db'",
    "pragma": "PRAGMA table_info(city)",
    "load extension": "SELECT load_extension('/tmp/x')",
    "read a file": "SELECT readfile('/etc/passwd')",
    "write a file": "SELECT writefile('/tmp/evenodds-bench', 'x')",
    "the schema": "SELECT sql, 1 FROM sqlite_master",
    "a view": "CREATE VIEW city2 AS SELECT * FROM city",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON city BEGIN DELETE FROM city; END",
    "a score": "SELECT 'right', 1.0",
    "injection": "x' OR '1'='1",
    "a NUL": f"\x00{QUERY[:10]}",
    "a surrogate": "SELECT '\ud800'",
}
HANGS = {
    "a recursion without end": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) "
    "SELECT COUNT(*), 1 FROM n",
    "a product of tables": "SELECT COUNT(*), 1 FROM city a, city b, city c, city d, city e, "
    "city f, city g, city h, city i, city j, city k, city l",
    "a huge text": "SELECT printf('%.*c', 900000000, 'x'), 1",
    "a huge blob": "SELECT hex(zeroblob(900000000)), 1",
    "a slow pattern": "SELECT 'a', 1 WHERE printf('%.*c', 9000, 'a') LIKE "
    "'%a%a%a%a%a%a%a%a%a%a%a%a%a%b'",
    "deep brackets": "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "a long sum": "SELECT " + "1+" * 50_000 + "1",
    "a long list": "SELECT 1 IN (" + "1," * 100_000 + "1)",
}


def own_cases() -> Iterator[Case]:
    """The bench of the kind by itself."""
    problem = asked("sql", 0, PROMPT, json.dumps({"schema": SCHEMA, "query": QUERY}))
    for text in RIGHT:
        yield made("sql", "right forms", problem, text, True, "the gold's rows")
    for note, text in WRONG.items():
        yield made("sql", "wrong values", problem, text, False, note)
        yield made("sql", "wrong values", problem, f"```sql\n{text}\n```", False, f"fenced, {note}")
    for note, text in HANGS.items():
        yield made("sql", "hang", problem, text, False, note)
    cut = f"```sql\n{QUERY}"
    yield made("sql", "truncated", problem, cut, False, "cut", stop=Stop.BUDGET)
    yield from _ordered()
    yield from hostile_sizes("sql", problem, "SELECT 1")


def _ordered() -> Iterator[Case]:
    """A gold with an order: the same rows in another one are wrong."""
    query = "SELECT name FROM city ORDER BY people DESC"
    problem: Problem = asked("sql", 1, PROMPT, json.dumps({"schema": SCHEMA, "query": query}))
    yield made("sql", "right forms", problem, query, True, "in order")
    for text in (query[:-5], "SELECT name FROM city", "SELECT name FROM city ORDER BY name"):
        yield made("sql", "wrong values", problem, text, False, "another order")
