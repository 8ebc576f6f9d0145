"""Rows of a file: which column is what, how values are read, and what comes out."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from evenodds.bench.answers import Columns, answer_of, columns_of, golds_of, text_of
from evenodds.bench.grading import Tally, as_line, graded, with_verdict
from evenodds.bench.source import Unreadable, rows_of, survey
from evenodds.domain import Status, Verdict
from evenodds.errors import UsageError
from evenodds.verifiers import find_verifier

PLAIN = Columns("answer", "gold", None, None)
NONE = dict.fromkeys(("answer", "gold", "prompt", "stop"))


def verdicts(*rows: dict, verifier="number", columns=PLAIN) -> list[dict]:
    numbered = enumerate(rows, 1)
    return [*graded(find_verifier(verifier), numbered, columns, Tally())]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (None, ""),
        (42, "42"),
        (0.5, "0.5"),
        (True, "true"),
        (["a", 1], '["a", 1]'),
        ({"a": 1}, '{"a": 1}'),
        (b"\xffa", "\ufffda"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "x"}], "x"),
        ("\ud800\x00", "\ud800\x00"),
    ],
)
def test_values_as_text(value, text) -> None:
    assert text_of(value) == text


def test_missing_and_null_answers_are_no_answer() -> None:
    found = verdicts({"gold": "7"}, {"answer": None, "gold": "7"}, {"answer": "", "gold": "7"})
    assert [row["status"] for row in found] == ["no_answer"] * 3
    assert all(row["score"] == 0 for row in found)


def test_bad_golds_are_never_paid() -> None:
    golds = ["", None, [], {"a": 1}, "nothing", [""], True]
    found = verdicts(*({"answer": "7", "gold": gold} for gold in golds), {"answer": "7"})
    assert [row["score"] for row in found] == [0.0] * len(found)
    assert {row["status"] for row in found} == {"gold_unreadable"}


def test_of_several_golds_any_is_right() -> None:
    rows = [{"answer": a, "gold": ["7", 8, "x"]} for a in ("7", "8", "9")]
    assert [row["status"] for row in verdicts(*rows)][:2] == ["right", "right"]
    assert verdicts(*rows)[2]["score"] == 0.0


def test_a_structured_kind_and_an_own_function_take_a_list_as_one_gold() -> None:
    row = {"gold": [1, 2]}
    assert golds_of(row, PLAIN, "expression") == ["[1, 2]"] == golds_of(row, PLAIN, None)
    assert golds_of(row, PLAIN, "number") == ["1", "2"]


def test_columns_of_ours_do_not_overwrite_a_row_s_own() -> None:
    row = {"score": 9, "status": "wrong", "status_before": "x", "a": 1}
    found = with_verdict(row, Verdict(1.0, Status.RIGHT, "7", "how", seconds=0.5))
    assert found == {
        "score_before": 9,
        "status_before_before": "wrong",
        "status_before": "x",
        "a": 1,
        "score": 1.0,
        "status": "right",
        "extracted": "7",
        "how": "how",
        "seconds": 0.5,
    }


def test_a_run_s_record_is_recognised() -> None:
    names = ["answer", "completion", "completion_ids", "gold", "prompt", "stop", "status"]
    found = columns_of(names, NONE, True, "f")
    assert found == Columns("completion", "gold", "prompt", "stop")
    row = {"completion": "7", "answer": 3, "gold": "7", "stop": "budget"}
    assert answer_of(row, found) == "7"
    assert verdicts(row, columns=found)[0]["status"] == "truncated"


@pytest.mark.parametrize(
    ("names", "given", "expected"),
    [
        (["answer", "completion"], {}, ("completion", "answer")),
        (["answer", "response", "prompt"], {}, ("response", "answer")),
        (["answer", "completion", "gold"], {}, ("answer", "gold")),
        (["answer", "completion"], {"gold": "completion"}, ("answer", "completion")),
        (["answer", "said"], {"answer": "said"}, ("said", "answer")),
    ],
)
def test_beside_a_completion_answer_is_the_gold(names, given, expected) -> None:
    found = columns_of(names, NONE | given, True, "f")
    assert (found.answer, found.gold) == expected


def test_a_missing_column_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"has no answer column 'answr'. Did you mean 'answer'"):
        columns_of(["answer", "gold"], NONE | {"answer": "answr"}, True, "f")
    with pytest.raises(UsageError, match=r"has no gold column 'gold'.*Use --gold"):
        columns_of(["answer"], NONE, True, "f")
    assert columns_of(["answer"], NONE, False, "f").gold is None


def test_lines_are_strict_json_whatever_they_hold() -> None:
    row = {"a": float("nan"), "b": "\ud800\x00\u202e", "c": b"\x00\xff", "d": float("-inf")}
    line = as_line(row)
    assert line.isascii() and "\n" not in line and "NaN" not in line
    assert json.loads(line) == {"a": None, "b": "\ud800\x00\u202e", "c": "00ff", "d": None}


def test_hostile_lines_are_read_or_refused_but_never_raise(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"answer": "\xff\xfe", "gold": 1}\n\n'
        b'{"answer": ' + b"7" * 9_000 + b', "gold": "1"}\n'
        b"[1]\n{\n" + b"[" * 100_000 + b'\n"text"\n{"answer": "\\ud800\\u0000"}\r\n'
    )
    found = dict(rows_of(path))
    assert found[1] == {"answer": "\ufffd\ufffd", "gold": 1}
    assert found[3]["answer"] == "7" * 9_000
    bad = [number for number, row in found.items() if isinstance(row, Unreadable)]
    assert bad == [4, 5, 6, 7]
    looked = survey(path)
    assert (looked.rows, looked.bad, looked.first) == (3, 4, (4, "it is no JSON object but a list"))


def test_order_is_kept_and_memory_stays_flat() -> None:
    size, count = 200_000, 150

    def rows():
        for number in range(count):
            yield number, {"answer": "x" * size + f" {number}", "gold": str(number)}

    tally = Tally()
    tracemalloc.start()
    try:
        for at, row in enumerate(graded(find_verifier("number"), rows(), PLAIN, tally)):
            assert row["gold"] == str(at) and row["score"] == 1.0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert tally.rows == count and peak < 0.5 * size * count
