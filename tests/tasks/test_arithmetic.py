"""The arithmetic ladders: operands, split, speed."""

from __future__ import annotations

import time

import numpy as np
import pytest

from evenodds.tasks.arithmetic import (
    ADDITION,
    MULTIPLICATION,
    Arithmetic,
    draw,
    is_held_out,
    number_of_pairs,
)
from evenodds.tasks.task import TaskOptions


@pytest.mark.parametrize("operation", [MULTIPLICATION, ADDITION])
def test_a_ladder_has_at_least_eight_distinct_levels(operation) -> None:  # type: ignore[no-untyped-def]
    assert len(set(operation.digits)) == len(operation.digits) >= 8


def test_operands_are_uniform_over_their_digits_with_the_longer_first() -> None:
    rng = np.random.default_rng(0)
    pairs = [draw((2, 1), rng) for _ in range(4_000)]
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
    assert first.held_out_pairs == second.held_out_pairs != other.held_out_pairs


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
    standard = Arithmetic(operation).held_out_pairs
    assert is_said or options.get("seed") or task.held_out_pairs <= standard


def test_problems_are_cheap() -> None:
    task, rng = Arithmetic(MULTIPLICATION), np.random.default_rng(0)
    started = time.process_time()
    task.held_out(0)
    assert time.process_time() - started < 0.2
    started = time.process_time()
    for _ in range(1_000):
        task.generate(4, rng)
    assert (time.process_time() - started) / 1_000 < 1e-4
