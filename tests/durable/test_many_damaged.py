"""What is said of a store with more damage than a person reads, or with seals of strange values."""

from __future__ import annotations

import pytest

from evenodds.durable import Seals, valid_folders
from evenodds.durable.seals import _text
from evenodds.errors import RunError


def test_of_a_thousand_damaged_folders_some_are_named_and_the_rest_counted(tmp_path) -> None:
    """They were all named: half a megabyte on one line of the terminal."""
    for number in range(1000):
        (tmp_path / f"step-{number:06d}").mkdir()
    good, (line,) = valid_folders(tmp_path, "step-")
    assert not good and len(line) < 20_000
    assert line.startswith("passed over 1000 damaged: ") and line.endswith("; and 980 more.")
    assert "step-000999" in line


@pytest.mark.parametrize("strange", ["x", None, 1.5, [1]])
def test_seals_that_count_in_no_numbers_are_damaged(tmp_path, strange) -> None:
    """Also where their own sum fits, as somebody may have written it."""
    for counts in ((strange, {}, 0), (1, {}, strange)):
        (tmp_path / "seals.json").write_text(_text(*counts))
        with pytest.raises(RunError, match="damaged"):
            Seals(tmp_path).read()
