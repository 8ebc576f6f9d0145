"""Sinks of a real run that cannot be opened."""

from __future__ import annotations

import pytest

from evenodds.errors import UsageError
from tests.run.small_runs import run


def test_a_sink_that_cannot_be_opened_leaves_no_run(tmp_path) -> None:
    own = tmp_path / "own.py"
    own.write_text("def sink(run):\n    raise OSError('no such dashboard')\n")
    with pytest.raises(UsageError, match="cannot be opened"):
        run(tmp_path, run__sinks=[f"{own}:sink"])
    assert not (tmp_path / "r" / "config.toml").exists()
    run(tmp_path, run__steps=1)  # the name is free
