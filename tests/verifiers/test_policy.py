"""A policy table is refused where it holds what no judge could mean, and the rule is said."""

from __future__ import annotations

from typing import get_args

import pytest

from evenodds.domain import Completion, Problem, Status
from evenodds.errors import UsageError
from evenodds.verifiers import canonical, extract, find_verifier
from evenodds.verifiers.math import find, policy


@pytest.mark.parametrize(
    ("kind", "table", "words"),
    [
        ("number", {"order": ["bx"]}, "'order'"),
        ("number", {"order": "box"}, 'order=["box", "answer tags"]'),
        ("number", {"tolerance": -1}, "greater than or equal to 0"),
        ("math", {"order": ["boxes"]}, "'box'"),
        ("math", {"tolerance": 2}, "less than or equal to 1"),
        ("math", {"rounded_gold": -3}, "greater than or equal to 0"),
        ("text", {"longest": -1}, "greater than 0"),
        ("text", {"threshold": 7}, "up to 1"),
        ("regex", {"longest": 0}, "greater than 0"),
        ("sql", {"seconds": -1}, "greater than 0"),
        ("sql", {"tolerance": float("nan")}, "1"),
        ("lean", {"seconds": 0}, "greater than 0"),
        ("composite", {}, "no parts"),
        ("composite", None, "no parts"),
    ],
)
def test_a_value_that_cannot_be_meant(kind: str, table, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_verifier(kind, table)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_values_at_the_edge_are_taken() -> None:
    problem = Problem("key", "6*7=", "42", "test")
    for kind in ("number", "math"):
        verifier = find_verifier(kind, {"order": ["box", "last number"], "tolerance": 0})
        assert verifier(problem, Completion("\\boxed{42}")).status is Status.RIGHT


def test_the_names_of_an_order_are_those_that_can_be_found() -> None:
    assert get_args(canonical.Finder) == tuple(extract.POLICIES)
    assert get_args(policy.Finder) == tuple(find.SCANNERS)
