"""What the speed benchmark rests on: equal work for all, and sums done right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from benchmarks.growth import flat
from benchmarks.speed import require_same_work
from benchmarks.speed_parts.clock import Clock
from benchmarks.speed_parts.forced import ForcedLengths, forced
from benchmarks.speed_parts.machine import Machine, Shape, learning_operations
from benchmarks.speed_parts.ours import WRITE, force_ours
from benchmarks.speed_parts.table import learning, ratios, summary, table, whole
from benchmarks.speed_parts.work import PROFILES, WARM, WORKS, Work, coin, lengths, prompts
from evenodds.domain import Limits, Stop
from evenodds.sampling.native import NativeSampler, Pages
from tests.tiny import make_policy

SMALL = WORKS["small"]


@pytest.fixture
def as_it_was() -> Iterator[None]:
    yield
    Pages.write = WRITE


def turn(
    seconds: float, sample: float = 1.0, learned: int = 4, **phases: float
) -> dict[str, object]:
    return {
        "seconds": seconds,
        "phases": {"sample": sample, **phases},
        "tokens": [3, 5],
        "prompt_tokens": 7,
        "learned": learned,
        "peak_gb": seconds,
    }


@pytest.mark.parametrize("end", [True, False])
def test_our_engine_draws_answers_of_the_given_lengths(end: bool, as_it_was: None) -> None:
    targets = [3, 1, 8, 8, 5, 2]
    policy = make_policy()
    if end:  # an end token would be drawn at once
        with torch.no_grad():
            policy.model.lm_head.weight[1] = 100.0
    force_ours(targets, harmless=4)
    groups = NativeSampler(policy).sample(["1*2=", "12*34="], 3, Limits(8), seed=0)
    rollouts = [rollout for group in groups for rollout in group]
    assert [rollout.ids.size for rollout in rollouts] == targets
    assert all(rollout.stop is Stop.END_TOKEN for rollout in rollouts)


def test_generate_draws_answers_of_the_given_lengths() -> None:
    targets, model = [3, 1, 6, 6], make_policy().model
    ids = torch.tensor([[0, 4, 5], [6, 4, 5]]).repeat_interleave(2, dim=0)
    drawn = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        do_sample=True,
        max_new_tokens=6,
        pad_token_id=0,
        eos_token_id=1,
        logits_processor=[ForcedLengths(targets, {1}, 3)],
    )[:, 3:]
    ends = [row.tolist().index(1) + 1 for row in drawn]
    assert ends == targets


def test_only_end_tokens_and_last_tokens_are_changed() -> None:
    tokens = np.array([5, 1, 7, 9])
    forced(tokens, np.array([1, 1, 3, 4]), np.array([2, 2, 3, 9]), {1, 2}, harmless=4)
    assert tokens.tolist() == [5, 4, 1, 9]


@pytest.mark.parametrize("work", WORKS.values(), ids=lambda work: work.name)
@pytest.mark.parametrize("profile", PROFILES)
def test_lengths_are_what_the_profile_says(work: Work, profile: str) -> None:
    rows = np.array(lengths(work, profile, 3)).reshape(work.groups, work.group_size)
    top = work.max_tokens
    assert rows.max() <= top and lengths(work, profile, 3) == rows.ravel().tolist()
    if profile == "equal":
        assert (rows == top).all()
    if profile == "uniform":
        assert rows.min() >= 16 and len(set(rows.ravel())) > work.groups
    if profile == "skewed":
        assert [(row == top).sum() for row in rows] == [1 + g % 2 for g in range(work.groups)]
        others = rows[rows < top]
        assert others.min() >= top // 8 and others.max() <= top // 4
    assert max(lengths(work, profile, WARM)) <= work.warm_tokens


def test_turns_differ_and_prompts_have_several_lengths() -> None:
    assert prompts(SMALL, 1) != prompts(SMALL, 2)
    assert len({len(text) for text in prompts(SMALL, 1)}) >= 3
    assert len(prompts(SMALL, 1)) == SMALL.groups


def test_the_coin_is_fair_and_nearly_every_group_has_signal() -> None:
    throws = np.array([[coin(f"{g} {a}", 1) for a in range(8)] for g in range(500)])
    assert 0.45 < throws.mean() < 0.55
    assert (np.ptp(throws, axis=1) == 1).mean() > 0.97


def test_ratios_are_taken_round_by_round() -> None:
    ours, theirs = [turn(2), turn(4), turn(2)], [turn(6), turn(8), turn(10)]
    found = ratios(theirs, ours, whole)
    assert (found.median, found.low, found.high) == (3, 2, 5)


def test_learning_is_what_is_no_sampling_judging_or_writing() -> None:
    assert learning(turn(10, sample=3, judge=1, write=2, forward=1)) == 4
    assert learning(turn(10, learned=0)) == 0


def test_the_summary_has_medians_rates_and_shares_of_memory() -> None:
    found = summary({"ours": [turn(2), turn(4)], "hf": [turn(3, 3, 0), turn(3, 3, 0)]})
    assert found["ours"]["seconds"]["whole"].median == 3
    assert found["ours"]["tokens_per_second"]["sampling"] == 8
    assert set(found["hf"]["seconds"]) == {"sampling"}
    assert found["hf"]["against_ours"]["sampling"].median == 3
    assert found["hf"]["ours_memory_share"] == pytest.approx(4 / 3)
    assert table(found).count("\n| hf |") == 2


def test_different_work_ends_the_benchmark() -> None:
    require_same_work({"a": turn(1), "b": turn(2)})
    with pytest.raises(SystemExit, match="did not do the same work"):
        require_same_work({"a": turn(1), "b": {**turn(2), "tokens": [3, 6]}})


def test_the_roofline_counts_each_product_once() -> None:
    shape = Shape(((10, 20), (20, 10)), blocks=2, head=(10, 100))
    assert (shape.weights, shape.head_weights, shape.adapter(3)) == (800, 1000, 360)
    assert learning_operations(shape, 0, answers=4, tokens=9) == 6 * (800 * 9 + 1000 * 4)
    lora = 4 * (800 * 9 + 1000 * 4) + 6 * 360 * 9
    assert learning_operations(shape, 3, answers=4, tokens=9) == lora


def test_the_bound_of_sampling_follows_the_rows_that_are_left() -> None:
    shape = Shape(((10, 20),), blocks=1, head=(10, 100))
    passes = {"float32": {1: 1.0, 3: 2.0}}
    machine = Machine(shape, passes, {"float32": 400.0}, 1.0, 1)
    tiny = WORKS["tiny"]
    # the prompt's pass gives the first tokens; then 3 rows once and 1 row twice
    assert machine.sampling_bound(tiny, [2, 4, 2], 5) == 2 + 1 + 1 + 2 * 200 * 5 / 400


def test_nested_phases_count_once() -> None:
    clock = Clock()
    with clock.phase("backward"), clock.phase("backward"):
        pass
    assert set(clock.lap()) == {"backward"} and not clock.lap()


def test_growth_compares_the_ends_of_a_run() -> None:
    def row(n: int) -> dict[str, float]:
        return {"time/step": 1 + n // 90, "time/elapsed": 2.0 * n, "time/memory_mb": 100 + n // 50}

    time, mean, memory = flat([row(n) for n in range(100)], window=10)
    assert time.value == 2 and not time.kept
    assert mean.value == 1 and mean.kept
    assert memory.value == 1.01 and memory.kept
