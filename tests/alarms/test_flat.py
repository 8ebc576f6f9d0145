"""Each cause of a flat reward comes first for a run that has it, and a run that rose is told so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evenodds.alarms.flat import diagnose
from tests.alarms.traces import World, demonstration, row

STILL = World(difficulty=None)


def run(
    world: World | Callable[[int], World],
    steps: int = 40,
    seed: int = 0,
    changes: Callable[[int], dict[str, Any]] = lambda step: {},
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    made = []
    for step in range(1, steps + 1):
        here = world(step) if callable(world) else world
        made.append(row(here, step, rng) | _kinds(here, rng) | changes(step))
    return json.loads(json.dumps(made))


def _kinds(world: World, rng: np.random.Generator) -> dict[str, float]:
    """Groups that are all right and all wrong at about the world's rate."""
    alone = (1 - world.right) ** world.size
    return {
        "groups/all_wrong": alone if world.right else 1.0,
        "groups/all_right": world.right**world.size,
        "learning_rate": 1e-6,
    }


def groups(rate: float, size: int, count: int = 200) -> list[dict[str, Any]]:
    right = np.random.default_rng(0).binomial(size, rate, count)
    return [{"step": 1, "right": right.tolist(), "judged": [size] * count}]


def moving(step: int) -> World:
    """Entropy that moves, as where something is learned."""
    return replace(STILL, entropy=0.3 - 0.004 * step)


WRONG = replace(STILL, right=0.0)
CONTROL = {"run": {"random_reward": True}}
SMALL = replace(STILL, size=4, right=0.05, spread=0.3)
TOP = {"curriculum": {"kind": "ladder"}}

CASES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]] = {
    "random reward": (run(moving), CONTROL, []),
    "answers are cut": (run(replace(WRONG, cut=0.93)), {}, []),
    "format unreachable": (
        run(WRONG, changes=lambda s: {"status/no_answer": 0.9, "status/wrong": 0.1}),
        {},
        [],
    ),
    "verifier errors": (
        run(moving, changes=lambda s: {"status/error": 0.6, "status/timeout": 0.2}),
        {},
        [],
    ),
    "too hard": (run(WRONG), {}, []),
    "too easy": (run(replace(STILL, right=1.0)), {}, []),
    "reward at its ceiling": (
        run(lambda s: replace(STILL, right=min(1.0, 0.5 + 0.1 * s)), steps=200),
        {},
        [],
    ),
    "groups too small": (run(SMALL), {"sampling": {"group_size": 4}}, groups(0.05, 4)),
    "answers are alike": (run(replace(moving(1), spread=30.0)), {}, []),
    "no updates": (
        run(moving, changes=lambda s: {"skipped": "no answer has an advantage"}),
        {},
        [],
    ),
    "learning rate too low": (run(replace(STILL, kl=1e-5)), {}, []),
    "learning rate too high": (
        run(lambda s: replace(STILL, kl=0.1 * s, ratio=4.0, entropy=0.3 + 0.05 * s)),
        {},
        [],
    ),
    "updates are clipped": (run(lambda s: replace(moving(s), clip=0.9)), {}, []),
    "curriculum stuck": (
        run(lambda s: replace(moving(s), difficulty=0.0, right=0.2)),
        TOP,
        [],
    ),
    "noise": (run(moving), {}, []),
    "too few steps": (run(STILL, steps=4), {}, []),
}


@pytest.mark.parametrize("cause", CASES)
def test_the_cause_comes_first(cause: str) -> None:
    rows, config, lines = CASES[cause]
    found = diagnose(config, rows, lines)
    print(f"\n{cause:24} " + "; ".join(f"{f.cause} {f.strength:.2f}" for f in found))
    print(f"{'':24} {found[0].evidence}. {found[0].remedy}.")
    assert found[0].cause == cause
    assert all(f.flat and f.evidence and 0 <= f.strength <= 1 for f in found)
    assert found[0].remedy
    assert [f.strength for f in found] == sorted((f.strength for f in found), reverse=True)


def test_a_policy_that_broke_is_not_told_that_problems_are_too_hard() -> None:
    rows = run(lambda s: replace(moving(s), right=0.5 if s < 25 else 0.0))
    first, *_ = diagnose({}, rows)
    assert first.cause == "learning rate too high"
    assert "were right at the start, 0 % at the end" in first.evidence


def test_a_reward_that_rose_is_not_explained() -> None:
    [found] = diagnose({}, run(lambda s: replace(STILL, right=0.3 + 0.01 * s)))
    assert not found.flat
    assert "rose from" in found.evidence


def test_a_ladder_that_holds_the_reward_is_not_flat() -> None:
    [found] = diagnose({}, run(demonstration, steps=60))
    assert not found.flat
    assert "difficulty rose" in found.evidence


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{}] * 20,
        [{"reward": None, "step": "x"}] * 20,
        [{"reward": 0.0, "groups/drawn": "many", "skipped": ["no"]}] * 20,
        [{"reward": 1e300 * (-1) ** n} for n in range(20)],
    ],
)
def test_records_that_make_no_sense_are_survived(rows) -> None:
    lines = [{"right": [3, None], "judged": "x"}, {"right": [3], "judged": [2]}, {}]
    broken = {"sampling": 3, "curriculum": {"kind": None, "target": None}}
    assert diagnose(broken, rows, lines)
    texts = {"sampling": {"group_size": "x", "max_tokens": []}, "learner": {"passes": {}}}
    assert diagnose(texts, rows, [{"right": [None, 3, "x"], "judged": [4, None, 10**400]}])
