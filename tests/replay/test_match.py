"""Rollouts held against each other, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenodds.domain import Rollout, Stop
from evenodds.errors import UsageError
from evenodds.replay import name_of
from evenodds.replay.match import match
from evenodds.replay.told import matched
from tests.tiny import make_rollout

ROLLOUT = make_rollout(5, seed=3)


def compared(now: Rollout, dtype: str = "float32"):
    return match(ROLLOUT, now, lambda number: f"<{number}>", dtype)


def moved(by: float, at: int = 2) -> Rollout:
    logprobs = ROLLOUT.logprobs.copy()
    logprobs[at] += np.float32(by)
    return replace(ROLLOUT, logprobs=logprobs)


def test_equal_in_every_bit() -> None:
    assert compared(replace(ROLLOUT)).kind == "bit-equal"
    zero, minus = (replace(ROLLOUT, logprobs=np.full(5, z, np.float32)) for z in (0.0, -0.0))
    assert match(zero, minus, str, "float32").kind == "rounding"  # equal numbers, other bits


def test_rounding_is_told_from_a_difference() -> None:
    found = compared(moved(1e-6))
    assert (found.kind, found.at, found.differing) == ("rounding", 3, 1)
    assert "equal up to rounding: all 5 tokens are the same, 1 log-prob" in matched(found)
    assert compared(moved(1e-2)).kind == "differs"
    assert compared(moved(1e-2), "bfloat16").kind == "rounding"


def test_another_token_or_another_end_is_where_it_first_differs() -> None:
    ids = ROLLOUT.ids.copy()
    ids[3] += 1
    found = compared(replace(ROLLOUT, ids=ids))
    assert (found.kind, found.at) == ("differs", 4)
    assert f"token 4: recorded '<{ROLLOUT.ids[3]}>'" in matched(found)
    shorter = replace(ROLLOUT, ids=ROLLOUT.ids[:2], logprobs=ROLLOUT.logprobs[:2])
    assert compared(shorter).at == 3 and "now no token" in matched(compared(shorter))
    assert compared(replace(ROLLOUT, stop=Stop.BUDGET)).kind == "differs"
    other = replace(ROLLOUT, prompt_ids=ROLLOUT.prompt_ids[1:])
    assert compared(other).kind == "other prompt"


@pytest.mark.parametrize("text", ["", "1", "1/2", "1/2/3/4", "a/b/c", "1/-2/3", "1/2/3\n4/5/6"])
def test_what_names_no_rollout(text) -> None:
    with pytest.raises(UsageError, match="STEP/GROUP/ANSWER"):
        name_of(text)


def test_names() -> None:
    assert name_of("31/4/0") == name_of(" step-00031/04/0 ") == (31, 4, 0)
    assert str(name_of("031/4/0")) == "31/4/0"
