"""What a run returns in Python, and what its passports say of the audit."""

from __future__ import annotations

import os
import signal

from evenodds.report.conclusion import conclude
from evenodds.report.record import read_run
from tests.run.small_runs import Quiet, run


def test_the_result_has_the_conclusion_of_the_report(tmp_path) -> None:
    result = run(tmp_path, run__steps=1)
    found = conclude(read_run(result.folder))
    assert result.conclusion == found
    assert f"{found.kind}: {found.sentence[:20]}" in repr(result)
    assert "\n" not in repr(result)
    assert run(tmp_path, run__steps=1).conclusion == found  # finished already


def test_a_run_that_did_not_end_has_no_conclusion(tmp_path) -> None:
    stopped = run(tmp_path, Quiet(lambda step: os.kill(os.getpid(), signal.SIGINT)))
    assert stopped.conclusion is None
    assert "no conclusion: it did not end" in repr(stopped)
