"""JSON lines and objects of a run folder that are torn, damaged or nested beyond reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenodds.records import lines
from evenodds.records.lines import (
    by_step,
    last_row,
    looks_whole,
    object_in,
    read_object,
    rows_of,
)
from evenodds.report.record import read_run

DEEP = "[" * 100_000


def test_what_is_no_line_of_ours_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert [*rows_of(path)] == by_step(path) == [] and last_row(path) == {}
    lines = ['{"step": 2}', DEEP, "[]", "null", '{"step": 1, "a": "\u2028"}', '{"step": "3"}']
    path.write_text("\n".join([*lines, '{"step": 2, "b": 1}', '{"step": 4']))
    assert len([*rows_of(path)]) == 4
    assert by_step(path) == [{"step": 1, "a": "\u2028"}, {"step": 2, "b": 1}]
    assert last_row(path) == {"step": 2, "b": 1}


@pytest.mark.parametrize("together", [1, 30, 1 << 18])
def test_lines_read_together_are_those_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(lines, "TOGETHER", together)
    path = tmp_path / "x.jsonl"
    sound = [f'{{"step": {step}, "v": NaN}}' for step in range(5)]
    cases = [sound, [*sound, '{"a": 1', '"b": 2}', '{"c": 3}'], ['{"a": 1}, {"b": 2}', *sound]]
    for texts in [*cases, [*sound, "", "  ", '{"z": [}', DEEP], ["{}", *sound, "{}{}"]]:
        path.write_text("\n".join(texts) + "\n")
        alone = [row for text in texts if (row := object_in(text)) is not None]
        assert repr([*rows_of(path)]) == repr(alone), texts


def test_whether_a_file_looks_whole(tmp_path: Path) -> None:
    path = tmp_path / "final.json"
    assert not looks_whole(path) and not looks_whole(tmp_path)
    for text in ("", "{", "}", "[]", '{"a": [', '"a"}'):
        path.write_text(text)
        assert not looks_whole(path), text
    for text in ("{}", '{"a": 1}\n', ' {"a": "' + "x" * 200_000 + '"}\n'):
        path.write_text(text)
        assert looks_whole(path), text[:9]


def test_an_object_of_a_file_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    for text in ("", "[1]", DEEP, '{"a": '):
        path.write_text(text)
        assert read_object(path) == {}, text[:9]
    path.write_text('{"a": 1}')
    assert read_object(path) == {"a": 1} and read_object(path, most=5) == {}
    assert read_object(tmp_path) == read_object(tmp_path / "none") == {}


def test_a_run_with_files_nested_beyond_reason_is_still_read(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("")
    (tmp_path / "evaluation").mkdir()
    for name in ("evaluation/base.json", "metrics.jsonl", "alarms.jsonl"):
        (tmp_path / name).write_text(DEEP)
    run = read_run(tmp_path)
    assert run.base is None and run.metrics == run.alarms == []
    assert run.unreadable == ("evaluation/base.json",)
