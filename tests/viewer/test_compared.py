"""What a run learned, worked out beside the pages."""

from __future__ import annotations

import json

from evenodds.report.record import read_run
from evenodds.viewer.compared import Compared
from tests.viewer.folder import write_run


def test_an_evaluation_of_numbers_that_are_no_shares_keeps_nobody_waiting(tmp_path) -> None:
    run = write_run(tmp_path / "mine")
    path = run / "evaluation" / "final.json"
    record = json.loads(path.read_text())
    record["levels"][0]["problems"][0]["right"] = -8
    path.write_text(json.dumps(record))
    found = Compared().ask(read_run(run), "a", wait=30.0)
    assert found.ready
    assert Compared().ask(read_run(write_run(tmp_path / "whole")), "b", wait=30.0).kind
