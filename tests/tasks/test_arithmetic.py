"""The arithmetic ladders: operands, split, speed."""

from __future__ import annotations

import hashlib
import time

import numpy as np
import pytest

from evenodds.domain import Completion
from evenodds.tasks import make_task
from evenodds.tasks.arithmetic import Arithmetic, is_held_out
from evenodds.tasks.chains import CHAINED, canonical, depth, value, written
from evenodds.tasks.operations import (
    ADDITION,
    DIVISION,
    MODULAR,
    MULTIPLICATION,
    SUBTRACTION,
    draw_pair,
    number_of_pairs,
)
from evenodds.tasks.task import TaskOptions

OPERATIONS = [MULTIPLICATION, ADDITION, SUBTRACTION, DIVISION, MODULAR, CHAINED]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_ladder_has_at_least_eight_distinct_levels(operation) -> None:  # type: ignore[no-untyped-def]
    for rows in (operation.levels, {level.sizes for level in operation.levels}):
        assert len(set(rows)) == len(operation.levels) >= 8


@pytest.mark.parametrize(
    ("name", "style", "seed", "digest"),
    [
        ("multiplication", "bare", 0, "7a21317505eed6a3"),
        ("multiplication", "few_shot", 3, "4317c692cd87b627"),
        ("multiplication", "chat", 0, "41270cdc2726c4a0"),
        ("addition", "bare", 3, "ee7c0c3637158a38"),
        ("addition", "few_shot", 0, "5dabab2b45f7a674"),
        ("addition", "chat", 3, "6a8bdff30118511a"),
    ],
)
def test_the_problems_of_the_first_two_ladders_never_change(
    name: str, style: str, seed: int, digest: str
) -> None:
    """The bundled model was pre-trained without exactly these held-out problems."""
    task, rng, seen = make_task(name, style=style, seed=seed), np.random.default_rng(5), b""
    for level in range(len(task.levels)):
        drawn = [task.generate(level, rng) for _ in range(50)]
        for p in [*task.held_out(level), *drawn]:
            seen += repr((p.key, p.prompt, p.answer, p.task, p.level)).encode()
    assert hashlib.sha256(seen).hexdigest()[:16] == digest


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_repeating_the_question_is_not_paid(operation) -> None:  # type: ignore[no-untyped-def]
    task = Arithmetic(operation)
    for level in range(len(task.levels)):
        for problem in task.held_out(level)[:40]:
            asked = str(problem.prompt).rstrip("=")
            for said in (asked, f"{asked}=", f"The answer is {asked}"):
                assert task.verifier(problem, Completion(said)).score == 0.0, (said, problem)


def test_a_fraction_is_wanted_in_lowest_terms() -> None:
    task = Arithmetic(DIVISION)
    problem = task.held_out(9)[0]
    above, below = map(int, problem.answer.split("/"))
    assert task.verifier(problem, Completion(f"{above}/{below}")).score == 1.0
    assert task.verifier(problem, Completion(f"{2 * above}/{2 * below}")).score == 0.0


def test_chains_that_differ_in_order_only_are_one_problem() -> None:
    first = ("+", ("*", 2, ("-", 9, 4)), 3)
    second = ("+", 3, ("*", ("-", 9, 4), 2))
    assert canonical(first) == canonical(second) == "(9-4)*2+3"
    assert canonical(("-", 9, ("-", 4, 1))) == canonical(("+", ("-", 9, 4), 1))
    assert written(first) == "2 * (9 - 4) + 3"
    assert value(first) == 13
    assert depth(written(("-", 9, ("-", 4, ("-", 2, 1))))) == 2


def test_what_is_written_is_what_was_meant() -> None:
    rng = np.random.default_rng(0)
    task = Arithmetic(CHAINED)
    for level in range(len(task.levels)):
        for problem in (task.generate(level, rng) for _ in range(30)):
            assert str(eval(str(problem.prompt).rstrip("="))) == problem.answer


def test_operands_are_uniform_over_their_digits_with_the_longer_first() -> None:
    rng = np.random.default_rng(0)
    pairs = [draw_pair((2, 1), rng) for _ in range(4_000)]
    tens = [max(pair) // 10 for pair in pairs]
    assert {min(map(min, pairs)), max(map(max, pairs))} == {1, 99}
    counts = np.bincount(tens, minlength=10)[1:]
    assert counts.min() > 350
    assert all(len(str(a)) == 2 and len(str(b)) == 1 for a, b in pairs)


def test_a_key_does_not_depend_on_the_order_of_the_operands() -> None:
    rng = np.random.default_rng(0)
    task = Arithmetic(MULTIPLICATION)
    keys = {task.generate(1, rng).key for _ in range(500)}
    assert all(int(a) <= int(b) for a, b in (key.split("/")[1].split("*") for key in keys))


def test_the_split_is_fixed_by_its_own_seed_alone() -> None:
    first, second = Arithmetic(MULTIPLICATION), Arithmetic(MULTIPLICATION)
    other = Arithmetic(MULTIPLICATION, TaskOptions(seed=1))
    assert first.held_out_keys == second.held_out_keys != other.held_out_keys


def test_a_small_level_keeps_at_most_a_quarter() -> None:
    task = Arithmetic(MULTIPLICATION)
    assert number_of_pairs((1, 1)) == 45
    assert len(task.held_out(0)) == 11
    assert all(len(task.held_out(level)) == 100 for level in range(1, len(task.levels)))


def test_pretraining_can_ask_whether_a_pair_is_held_out() -> None:
    task = Arithmetic(MULTIPLICATION)
    a, b = map(int, task.held_out(4)[0].key.split("/")[1].split("*"))
    assert is_held_out(task, a, b)
    assert is_held_out(task, b, a)
    assert not is_held_out(task, 10**6, 10**6)


def test_styles_share_the_split() -> None:
    keys = [
        [p.key for p in Arithmetic(ADDITION, TaskOptions(style=style)).held_out(2)]
        for style in ("bare", "few_shot", "chat")
    ]
    assert keys[0] == keys[1] == keys[2]


@pytest.mark.parametrize(
    ("operation", "options", "is_said"),
    [
        (MULTIPLICATION, {}, False),
        (MULTIPLICATION, {"held_out": 50, "style": "few_shot"}, False),
        (MULTIPLICATION, {"held_out": 101}, True),
        (MULTIPLICATION, {"seed": 1}, True),
        (ADDITION, {"seed": 1}, False),
    ],
)
def test_the_passport_says_what_the_bundled_model_may_have_seen(  # type: ignore[no-untyped-def]
    operation, options, is_said
) -> None:
    task = Arithmetic(operation, TaskOptions(**options))
    assert ("abacus" in str(task.passport().get("bundled_model", ""))) == is_said
    standard = Arithmetic(operation).held_out_keys
    assert is_said or options.get("seed") or task.held_out_keys <= standard


def test_problems_are_cheap() -> None:
    task, rng = Arithmetic(MULTIPLICATION), np.random.default_rng(0)
    started = time.process_time()
    task.held_out(0)
    assert time.process_time() - started < 2
    started = time.process_time()
    for _ in range(1_000):
        task.generate(4, rng)
    assert (time.process_time() - started) / 1_000 < 2e-3
