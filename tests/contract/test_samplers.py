"""One suite for every engine: a new one is added to ENGINES and gets all of it."""

from __future__ import annotations

import numpy as np
import pytest

from evenodds.domain import Limits, Stop
from evenodds.sampling.native import NativeSampler
from evenodds.sampling.scripted import ScriptedSampler
from tests.tiny import make_lora, make_policy

PROMPTS = ["12*34=", "7*8=", "123*4567=", "9*9=", "10*10="]
ENGINES = {
    "native-lean": lambda: NativeSampler(make_policy("qwen3"), max_rows=12),
    "native-lora": lambda: NativeSampler(make_lora(make_policy("llama")), max_rows=12),
    "native-modules": lambda: NativeSampler(make_policy("gpt2"), max_rows=12),
    "native-sliding": lambda: NativeSampler(make_policy("gemma2", sliding_window=4), max_rows=12),
    "scripted": lambda: ScriptedSampler(lambda prompt, rng: "1" * int(rng.integers(1, 40))),
}


@pytest.fixture(params=sorted(ENGINES), scope="module")
def sampler(request):
    return ENGINES[request.param]()


def test_there_are_group_size_rollouts_for_each_prompt_in_order(sampler) -> None:
    groups = sampler.sample(PROMPTS, 3, Limits(20), 0)
    assert [len(group) for group in groups] == [3] * 5
    for group in groups:
        for rollout in group:
            assert np.array_equal(rollout.prompt_ids, group[0].prompt_ids)
            assert 1 <= rollout.ids.size == rollout.logprobs.size <= 20
            assert rollout.logprobs.dtype == np.float32
            assert (rollout.logprobs <= 0).all()
            assert rollout.limits == Limits(20)
    assert len({tuple(group[0].prompt_ids) for group in groups}) == 5


def test_the_same_seed_gives_the_same_rollouts_and_another_seed_others(sampler) -> None:
    def ids(seed):
        return [
            r.ids.tolist() for group in sampler.sample(PROMPTS, 3, Limits(20), seed) for r in group
        ]

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)


def test_each_group_is_handed_over_once_when_it_is_finished(sampler) -> None:
    seen = {}

    def finished(index, rollouts) -> None:
        assert index not in seen
        seen[index] = rollouts

    groups = sampler.sample(PROMPTS, 3, Limits(20), 5, finished)
    assert sorted(seen) == [0, 1, 2, 3, 4]
    for index, group in enumerate(groups):
        assert [r.seed for r in seen[index]] == [r.seed for r in group]
        assert [r.ids.tolist() for r in seen[index]] == [r.ids.tolist() for r in group]


def test_what_the_one_who_is_told_raises_goes_through(sampler) -> None:
    def finished(index, rollouts) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sampler.sample(PROMPTS, 2, Limits(5), 0, finished)
    assert len(sampler.sample(PROMPTS, 2, Limits(5), 0)) == 5


def test_a_full_budget_is_said(sampler) -> None:
    for group in sampler.sample(PROMPTS, 4, Limits(2), 3):
        for rollout in group:
            assert rollout.ids.size <= 2
            if rollout.stop is Stop.BUDGET:
                assert rollout.ids.size == 2
                assert rollout.is_truncated


def test_a_loaded_version_is_on_every_rollout(sampler) -> None:
    sampler.load(None, 7)
    assert sampler.sample(["1*1="], 2, Limits(4), 0)[0][1].version == 7


def test_rollouts_have_seeds_of_their_own(sampler) -> None:
    groups = sampler.sample(PROMPTS, 3, Limits(4), 9)
    assert len({rollout.seed for group in groups for rollout in group}) == 15
