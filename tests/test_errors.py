"""Words of errors that come from several places."""

from __future__ import annotations

import pytest

from evenodds.errors import sentences


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (("a is damaged", "Remove it"), "a is damaged. Remove it."),
        (("a is damaged.", " Remove it. "), "a is damaged. Remove it."),
        (("is it?", "", "  ", "wait…"), "is it? wait…"),
        ((), ""),
    ],
)
def test_each_part_is_a_sentence_with_one_full_stop(parts: tuple[str, ...], line: str) -> None:
    assert sentences(*parts) == line
