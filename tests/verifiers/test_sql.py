"""Queries are compared by their rows; nothing is written, reached, or run without end."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import find_verifier
from evenodds.verifiers.sql import DEFAULT, Policy, sql
from evenodds.verifiers.sql.functions import install
from evenodds.verifiers.sql.words import is_ordered

SCHEMA = """
PRAGMA foreign_keys = OFF;
CREATE TABLE people(name TEXT, age INTEGER, height REAL, city TEXT);
INSERT INTO people VALUES ('Ann', 30, 1.7, 'Rome'), ('Bob', 25, 1.8, NULL),
  ('Cid', 30, 1.75, 'Rome'), ('Dee', NULL, 1.6, 'Oslo');
CREATE TABLE visits(name TEXT, place TEXT);
INSERT INTO visits VALUES ('Ann', 'zoo'), ('Ann', 'sea'), ('Bob', 'zoo');
CREATE VIEW grown AS SELECT name FROM people WHERE age >= 30;
"""
NAMES = "SELECT name FROM people WHERE city = 'Rome'"


def problem(query: str = NAMES, **fields: object) -> Problem:
    gold = {"schema": SCHEMA, "query": query, **fields}
    return Problem("key", "prompt", json.dumps(gold), "task")


def judged(answer: str, query: str = NAMES, policy: Policy = DEFAULT) -> Verdict:
    return sql(problem(query), Completion(answer), policy)


@pytest.mark.parametrize(
    ("query", "answer", "right"),
    [
        (NAMES, "SELECT name FROM people WHERE city = 'Rome' ORDER BY age, name DESC", True),
        (NAMES, "```sql\nselect p.name as who from people p where p.city like 'rome';\n```", True),
        (NAMES, "First\n```sql\nSELECT 1\n```\nthen\n```sql\n" + NAMES + "\n```\nDone.", True),
        (NAMES, f"<answer>{NAMES}</answer>", True),
        (NAMES, f"<think>SELECT 1</think>```\n{NAMES}\n```", True),
        (NAMES, "WITH r AS (" + NAMES + ") SELECT name FROM r -- it's all", True),
        (NAMES, "/* a ; b */ SELECT name FROM people WHERE city IN ('Rome');;", True),
        (NAMES, "SELECT name, city FROM people WHERE city = 'Rome'", False),
        (NAMES, "SELECT name FROM people", False),
        (NAMES, "SELECT DISTINCT city FROM people WHERE city = 'Rome'", False),
        (NAMES, "SELECT 'Ann' UNION SELECT 'Cid'", False),
        (NAMES, "VALUES ('Ann'), ('Cid')", False),
        (NAMES, "The query is SELECT name", False),
        (NAMES, "SELECT nme FROM people", False),
        (NAMES, "SELECT name FROM people WHERE city = ?", False),
        (NAMES, "SELECT name FROM people WHERE city = 'Rome'; SELECT 1", False),
        (NAMES, f"```sql\n{NAMES}\n```\n```sql\nSELECT 1\n```", False),
        ("SELECT name FROM grown", "SELECT name FROM people WHERE age = 30", True),
        ("SELECT count(*) FROM people", "SELECT sum(1) FROM people WHERE name > ''", True),
        ("SELECT count(*) FROM people", "SELECT 4.0 FROM people WHERE name = 'Ann'", True),
        ("SELECT count(name) FROM people", "SELECT '4' FROM people WHERE name = 'Ann'", False),
        ("SELECT count(name) FROM people", "SELECT 4", False),
        ("SELECT count(*) FROM people", "SELECT 4", False),
        (
            "SELECT count(*) FROM people",
            "WITH r AS (SELECT age a FROM people) SELECT count(*) FROM r",
            True,
        ),
        ("SELECT count(*) FROM people", "SELECT count(*) FROM (SELECT * FROM people)", True),
        ("SELECT age FROM people", "SELECT age + 0.0 FROM people", True),
        (NAMES, "SELECT trim('-' || name || '-', '-') FROM people WHERE city = 'Rome'", True),
        ("SELECT age FROM people", "SELECT coalesce(age, 0) FROM people", False),
        ("SELECT age FROM people", "SELECT coalesce(age, '') FROM people", False),
        ("SELECT avg(height) FROM people", "SELECT sum(height) / 4 FROM people", True),
        ("SELECT avg(height) FROM people", "SELECT round(avg(height), 2) FROM people", False),
        ("SELECT height * 1e9 FROM people", "SELECT height * 1e9 + .1 FROM people", True),
        ("SELECT age FROM people", "SELECT age + 1 FROM people", False),
        ("SELECT name, age FROM people", "SELECT age, name FROM people", False),
        ("SELECT value FROM json_each('[1,2]')", "SELECT value FROM json_each('[2,1]')", True),
    ],
)
def test_rows_decide(query: str, answer: str, right: bool) -> None:
    verdict = judged(answer, query)
    assert verdict.status is (Status.RIGHT if right else Status.WRONG), verdict
    assert verdict.score == float(right)


def test_order_counts_where_the_gold_has_one_at_its_top() -> None:
    ordered, other = (
        "SELECT name FROM people ORDER BY name",
        "SELECT name FROM people ORDER BY 1 DESC",
    )
    assert judged(other, ordered).status is Status.WRONG
    assert "another order" in judged(other, ordered).note
    assert judged(other, ordered, Policy(order="never")).status is Status.RIGHT
    assert judged(other, "SELECT name FROM people").status is Status.RIGHT
    assert judged(other, "SELECT name FROM people", Policy(order="always")).status is Status.WRONG


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1 ORDER BY 1", True),
        ("select 1 order\n by 1", True),
        ("SELECT * FROM (SELECT 1 ORDER BY 1)", False),
        ("SELECT ' ORDER BY ' -- ORDER BY\n/* ORDER BY */", False),
        ("SELECT row_number() OVER (ORDER BY a) FROM t", False),
    ],
)
def test_an_order_at_the_top_level(query: str, expected: bool) -> None:
    assert is_ordered(query) is expected


def test_several_databases_catch_a_constant() -> None:
    one = "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);"
    two = "CREATE TABLE t(a); INSERT INTO t VALUES (5);"
    gold = json.dumps({"databases": [one, two], "query": "SELECT max(a) FROM t"})
    asked = Problem("key", "prompt", gold, "task")
    assert sql(asked, Completion("SELECT a FROM t ORDER BY a DESC LIMIT 1")).score == 1.0
    verdict = sql(asked, Completion("SELECT 2 FROM t WHERE a = 2"))
    assert (verdict.score, verdict.status) == (0.0, Status.WRONG)
    assert "database 2 of 2" in verdict.note


def test_a_query_that_reads_nothing_is_not_paid_but_by_policy() -> None:
    assert "reads no table" in judged("SELECT 4", "SELECT count(name) FROM people").note
    free = find_verifier("sql", {"reads": False})
    assert free(problem("SELECT count(name) FROM people"), Completion("SELECT 4")).score == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        "DROP TABLE people",
        "DELETE FROM people",
        "INSERT INTO people(name) VALUES ('Eve')",
        "WITH x AS (SELECT 1) DELETE FROM people",
        "WITH x AS (SELECT 1) INSERT INTO people(name) SELECT 'x'",
        "CREATE TABLE t AS SELECT 1",
        "ATTACH '/etc/passwd' AS p",
        "VACUUM INTO '/tmp/evenodds-forged.db'",
        "PRAGMA writable_schema = ON",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM pragma_table_info('people')",
        "SELECT sql FROM sqlite_master",
        "SELECT sql FROM sqlite_stmt",
        "SELECT * FROM dbstat",
        "SELECT load_extension('/tmp/x.so')",
        "SELECT readfile('/etc/passwd')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT random() % 2 FROM people",
        "EXPLAIN SELECT name FROM people",
        "BEGIN",
        "REINDEX",
        "ANALYZE",
        "SELECT name FROM people\0; DROP TABLE people",
        "SELECT '\ud800'",
        "",
        ";",
        "()",
        "```sql\n```",
    ],
)
def test_nothing_but_reading_the_tables_is_allowed(answer: str) -> None:
    verdict = judged(answer)
    assert verdict.score == 0.0
    assert verdict.status in (Status.WRONG, Status.NO_ANSWER)
    assert judged(NAMES).status is Status.RIGHT
    assert not Path("/tmp/evenodds-forged.db").exists()


BOMBS = [
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 100000) "
    "SELECT count(*) FROM r a, r b, r c WHERE a.n + b.n = c.n",
    "WITH RECURSIVE r(n) AS (SELECT zeroblob(90000) UNION ALL SELECT n FROM r LIMIT 1000000) "
    "SELECT hex(n) FROM r ORDER BY 1",
    "WITH RECURSIVE r(n) AS (SELECT 'x' UNION ALL SELECT n || n FROM r) SELECT n FROM r",
    "SELECT printf('%1000000000d', 1)",
    "SELECT printf('%.*c', 900000000, 'x') FROM people",
    "SELECT format('%0999999999d', age) FROM people",
    "SELECT zeroblob(2000000000)",
    "SELECT hex(zeroblob(1000000000))",
    "SELECT replace(hex(zeroblob(90000)), '0', '0000000000')",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT sum(instr("
    "hex(zeroblob(90000 - n % 2)), hex(zeroblob(45000)) || 'x')) FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT sum("
    "hex(zeroblob(90000 - n % 2)) LIKE '" + "%0" * 90 + "x') FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(trim("
    "hex(zeroblob(49000 - n % 2)), replace(hex(zeroblob(49000)), '0', 'x') || '0')) FROM r",
    "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "SELECT " + "-" * 9_000 + "1",
    "SELECT 1 " + "UNION SELECT 1 " * 1_000,
    "SELECT " + ", ".join(["name"] * 3_000) + " FROM people",
    "SELECT 'a' || " * 2_000 + "'b'",
    "SELECT '" + "a" * 90_000 + "'",
    "SELECT * FROM " + ", ".join(f"people p{n}" for n in range(60)),
]


@pytest.mark.parametrize("query", BOMBS, ids=lambda q: q[:60])
def test_a_bomb_is_wrong_and_soon(query: str) -> None:
    start = time.process_time()
    verdict = judged(query, policy=Policy(seconds=0.3, memory_mb=64))
    assert (verdict.score, verdict.status) == (0.0, Status.WRONG), verdict
    assert verdict.note
    assert time.process_time() - start < 5
    assert judged(NAMES).status is Status.RIGHT


@pytest.mark.parametrize(
    "call",
    [
        "'%d, %5.2f|%-5s|%05d', age, height, name, age",
        "'%s %i%%', name, height",
        "'%x %e %g', age, height, height",
        "'%d %s'",
        "'plain'",
        "'%d', '12abc'",
        "'%+d', age",
        "NULL",
    ],
)
def test_our_printf_writes_what_sqlites_own_does(call: str) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        query = f"SELECT printf({call}) FROM people"
        wanted = database.execute(query).fetchall()
        install(database)
        assert database.execute(query).fetchall() == wanted
        assert database.execute("SELECT trim(' a ') || rtrim('xay', 'yx')").fetchall() == [("axa",)]


@pytest.mark.parametrize(
    "fields",
    [
        {"schema": "CREATE TABLE broken("},
        {"schema": "ATTACH '/tmp/evenodds-forged.db' AS x; CREATE TABLE x.t(a)"},
        {"schema": "CREATE TABLE t(a); VACUUM INTO '/tmp/evenodds-forged.db'"},
        {"schema": "SELECT load_extension('/tmp/x.so')"},
        {"schema": 3},
        {"query": ""},
        {"query": "DELETE FROM people"},
        {"query": "SELECT nothing FROM people"},
        {"databases": []},
        {"db": "people.db"},
    ],
)
def test_a_gold_that_cannot_be_used_is_never_paid(fields: dict[str, object]) -> None:
    verdict = sql(problem(**fields), Completion(NAMES))
    assert (verdict.score, verdict.status) == (0.0, Status.GOLD_UNREADABLE), verdict
    assert verdict.note.startswith("the gold")
    assert not Path("/tmp/evenodds-forged.db").exists()


@pytest.mark.parametrize("gold", ["", "x", "[]", "{}", "[" * 100_000, '{"query": "SELECT 1"}'])
def test_any_other_gold_is_unreadable(gold: str) -> None:
    verdict = sql(Problem("key", "prompt", gold, "task"), Completion(NAMES))
    assert verdict.status is Status.GOLD_UNREADABLE


def test_a_database_in_a_file_of_the_named_folder_is_only_read(tmp_path: Path) -> None:
    folder = tmp_path / "databases"
    folder.mkdir()
    for path in (folder / "people.db", tmp_path / "outside.db"):
        with sqlite3.connect(path) as database:
            database.executescript(SCHEMA)
        database.close()
    before = (folder / "people.db").read_bytes()
    policy = Policy(databases=str(folder))
    gold = {"db": "people.db", "query": NAMES}
    asked = Problem("key", "prompt", json.dumps(gold), "task")
    assert sql(asked, Completion(NAMES), policy).status is Status.RIGHT
    assert sql(asked, Completion("DELETE FROM people"), policy).status is Status.WRONG
    assert (folder / "people.db").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["people.db"]
    for name in ("../outside.db", str(tmp_path / "outside.db"), "none.db", "", 3, "a\0b"):
        asked = Problem("key", "prompt", json.dumps({**gold, "db": name}), "task")
        assert sql(asked, Completion(NAMES), policy).status is Status.GOLD_UNREADABLE


@pytest.mark.parametrize(
    ("answer", "stop", "status", "score"),
    [
        (f"```sql\n{NAMES}\n```\nand", Stop.BUDGET, Status.TRUNCATED, 1.0),
        (f"<answer>{NAMES}</answer>", Stop.BUDGET, Status.TRUNCATED, 1.0),
        (f"```sql\n{NAMES}", Stop.BUDGET, Status.TRUNCATED, 0.0),
        (NAMES, Stop.BUDGET, Status.TRUNCATED, 0.0),
        (f"<answer>{NAMES}", Stop.STOP_STRING, Status.RIGHT, 1.0),
        (f"<think>{NAMES}", Stop.END_TOKEN, Status.NO_ANSWER, 0.0),
    ],
)
def test_what_counts_as_the_answer(answer: str, stop: Stop, status: Status, score: float) -> None:
    verdict = sql(problem(), Completion(answer, stop))
    assert (verdict.status, verdict.score) == (status, score), verdict


def test_a_policy_is_checked() -> None:
    with pytest.raises(UsageError, match="order"):
        find_verifier("sql", {"order": "sometimes"})


WORDS = st.sampled_from(
    [
        "SELECT",
        "name",
        "FROM people",
        "WHERE",
        "WITH r AS",
        "(",
        ")",
        "'",
        '"',
        "--",
        "/*",
        ";",
        "\0",
    ]
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.text(max_size=60) | st.lists(WORDS, max_size=12).map(" ".join), st.sampled_from(list(Stop))
)
def test_any_text_gives_a_verdict(answer: str, stop: Stop) -> None:
    verdict = sql(problem(), Completion(answer, stop))
    assert verdict.score in (0.0, 1.0)
    assert verdict.status not in (Status.ERROR, Status.TIMEOUT, Status.GOLD_UNREADABLE)
