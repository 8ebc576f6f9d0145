"""The run that the viewer is measured on is one as a run writes it."""

from __future__ import annotations

from benchmarks.viewer import Limit
from benchmarks.viewer_parts.made import write_run
from evenodds.records.columns import COLUMNS
from evenodds.viewer.data import Source
from evenodds.viewer.ladder import levels_of


def test_a_made_run_has_every_column_and_every_file(tmp_path) -> None:
    run = tmp_path / "made"
    write_run(run, steps=6, groups=8, size=4, tokens=8)
    source = Source(run)
    assert len(source.groups()) == 48
    assert not source.damaged
    rows = source.group(5, 7)
    assert len(rows) == 4
    assert {row["step"] for row in rows} == {5}
    assert set(rows[0]) == set(COLUMNS)
    assert all(len(row["logprobs"]) == len(row["completion_ids"]) for row in rows)
    record = source.record()
    assert [row["step"] for row in record.metrics] == [1, 2, 3, 4, 5, 6]
    assert record.base is not None
    assert record.final is not None
    assert len(levels_of(record)) == 8


def test_a_limit_that_is_missed_says_so() -> None:
    assert str(Limit("a", 0.5, 0.3)).endswith("limit 300 ms   MISSED")
    assert str(Limit("a", 0.1, 0.3)).endswith("limit 300 ms")
    assert str(Limit("a", 512.4, 500, "MB")).endswith("512 MB   limit 500 MB   MISSED")
    assert Limit("a", 9, None).is_met
