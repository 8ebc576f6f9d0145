"""Prompts that give their answer away, and tasks that only look as if they did."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evenodds.domain import Problem
from evenodds.run.preflight.copying import (
    ASKED,
    MUCH,
    PIECES,
    Copied,
    affordable,
    copying,
    question,
)
from tests.run.preflight.test_budgets import ground_of, told


def test_pieces_of_a_prompt() -> None:
    text = "Add 12 and -3.5.\n\nAnswer: 1,000 or so\n \n"
    assert {name: cut(text) for name, cut in PIECES.items()} == {
        "the whole prompt": "Add 12 and -3.5.\n\nAnswer: 1,000 or so",
        "its last line": "Answer: 1,000 or so",
        "its last number": "1,000",
        "its first number": "12",
    }
    assert {cut("") for cut in PIECES.values()} == {""}


def test_only_what_its_own_prompt_is_paid_for_counts() -> None:
    """One of two letters is right for half of all problems, whoever's prompt it stands in."""
    chance = Copied("its last line", 24, 23, ASKED)
    given = Copied("its last number", 30, 2, ASKED, ("6*7=42", "42"))
    assert copying([chance]).level == "fine"
    found = copying([chance, given])
    assert found.level == "warning"
    assert "62 % of 48 problems pay for its last number" in found.what
    assert "'6*7=42' pays for '42'" in found.what
    few = Copied("its last number", int(MUCH * ASKED), 0, ASKED)
    assert copying([few]).level == "fine"
    assert copying([Copied("its last line", 0, 0, 0)]) is None


def test_a_slow_verifier_is_asked_of_few_problems() -> None:
    """Three seconds for four pieces, each in its own prompt and in another's."""
    assert [affordable(seconds, 32) for seconds in (32.0, 3.2, 0.32)] == [0, 3, 37]
    assert affordable(0.0, 32) > ASKED and affordable(1.0, 0) == 0


def test_what_is_asked_is_the_last_message() -> None:
    messages = ({"role": "system", "content": "Add."}, {"role": "user", "content": "1+1="})
    assert question(Problem("k", messages, "2", "t")) == "1+1="


KINDS = {
    "given away": (lambda a, b: f"What is {a} times {b}? (It is {a * b}.)", "number", "warning"),
    "nothing of it": (lambda a, b: f"{a}*{b}=", "number", None),
    "to be copied": (lambda a, b: f"{a * b}", "text", "warning"),
}


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_data_that_gives_answers_away_is_named(tmp_path, case) -> None:
    prompt, verifier, level = KINDS[case]
    rng = np.random.default_rng(0)
    pairs = {tuple(sorted(map(int, rng.integers(10, 100, 2)))) for _ in range(300)}
    rows = [{"prompt": prompt(a, b), "answer": str(a * b)} for a, b in sorted(pairs)]
    unique = {row["prompt"]: row for row in rows}.values()
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in unique))
    ground = ground_of(tmp_path, {"task.data": str(path), "task.verifier": verifier})
    assert told(ground, "probe").get("copying") == level
