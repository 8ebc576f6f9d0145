"""A file that grows, is cut, is replaced, is damaged."""

from __future__ import annotations

import json

from evenodds.records.follow import Lines
from evenodds.records.lines import step_of


def follow(path) -> tuple[Lines, list]:
    rows: list = []
    return Lines(path, rows.append, rows.clear), rows


def test_only_what_was_added_is_read_and_only_whole_lines(tmp_path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines, rows = follow(path)
    assert not lines.refresh()
    path.write_text('{"step": 1}\n{"step": 2')
    assert lines.refresh()
    assert rows == [{"step": 1}]
    assert not lines.refresh()
    with open(path, "a") as file:
        file.write('2}\n{"step": 3}\n')
    assert lines.refresh()
    assert rows == [{"step": 1}, {"step": 22}, {"step": 3}]


def test_a_line_longer_than_a_chunk_is_read(tmp_path) -> None:
    path = tmp_path / "groups.jsonl"
    row = {"step": 1, "key": ["x" * (3 << 20)]}
    path.write_text(json.dumps(row) + "\n" + '{"step": 2}\n')
    lines, rows = follow(path)
    lines.refresh()
    assert [found["step"] for found in rows] == [1, 2]


def test_damaged_lines_are_counted_and_left_out(tmp_path) -> None:
    path = tmp_path / "metrics.jsonl"
    deep = b"[" * 100_000
    path.write_bytes(b'{"step": 1}\nnonsense\n[1]\n\xff\xfe\n\n' + deep + b'\n{"step": 2}\n')
    lines, rows = follow(path)
    lines.refresh()
    assert [row["step"] for row in rows] == [1, 2]
    assert lines.damaged == 4


def test_a_file_that_was_cut_or_replaced_is_read_anew(tmp_path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n')
    lines, rows = follow(path)
    lines.refresh()
    path.write_text('{"step": 1}\n')
    lines.refresh()
    assert rows == [{"step": 1}]
    fresh = tmp_path / "fresh"
    fresh.write_text('{"step": 1}\n{"step": 9}\n')
    fresh.replace(path)
    lines.refresh()
    assert rows == [{"step": 1}, {"step": 9}]
    path.unlink()
    assert lines.refresh()
    assert rows == []


def test_a_step_is_a_whole_number() -> None:
    assert step_of({"step": 7}) == 7
    assert [step_of({"step": bad}) for bad in (True, -1, 1 << 40, 1.5, "1", None)] == [None] * 6
