"""The draw is the distribution, whatever its size and shape."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Limits
from evenodds.sampling.native import Pages, draw
from tests.tiny import make_policy


@pytest.mark.parametrize("vocabulary", [3, 255, 256, 257, 1000])
def test_frequencies_are_the_probabilities(vocabulary) -> None:
    torch.manual_seed(0)
    logits = torch.randn(vocabulary) * 2
    points = (torch.arange(20_000) + 0.5) / 20_000
    tokens, logprobs = draw(logits.expand(20_000, -1), points, 0.7)
    expected = (logits / 0.7).softmax(-1)
    found = torch.bincount(tokens, minlength=vocabulary) / 20_000
    assert (found - expected).abs().max() < 1.1 / 20_000 + 1e-4
    assert torch.allclose(logprobs.exp(), expected[tokens], atol=1e-6)


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    point=st.sampled_from([0.0, 1e-7, 0.5, 1 - 2**-24]) | st.floats(0, 1 - 2**-24, width=32),
    scale=st.sampled_from([0.0, 1.0, 30.0, 200.0]),
)
def test_a_token_without_mass_is_never_drawn(seed, point, scale) -> None:
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.normal(size=(1, 600)) * scale).float()
    logits[0, rng.integers(600, size=50)] = float("-inf")
    tokens, logprobs = draw(logits, torch.tensor([point], dtype=torch.float32), 1.0)
    assert 0 <= tokens.item() < 600
    assert logprobs.item() > -110  # exp of less is 0 in fp32


def test_temperature_zero_is_the_most_likely_token_with_certainty() -> None:
    tokens, logprobs = draw(torch.tensor([[0.0, 3.0, 1.0]]), torch.tensor([0.0]), 0.0)
    assert tokens.tolist() == [1]
    assert logprobs.tolist() == [0.0]


@pytest.mark.parametrize("vocabulary", [3, 300, 513, 5000])
def test_what_can_be_drawn_has_a_finite_log_probability(vocabulary) -> None:
    """Also where the point falls on a block's edge, and its first token has next to no mass."""
    logits = torch.zeros(2, vocabulary)
    logits[:, ::256] = -103  # e^-103 is the smallest float32
    for point in (2.0**-25, 0.5, 1 - 2.0**-24):
        _, logprobs = draw(logits, torch.full((2,), point), 1.0)
        assert torch.isfinite(logprobs).all()
    halves = torch.full((1, 1024), -104.0)
    halves[0, [0, 512 + 3]] = 0
    halves[0, 512] = -103
    tokens, logprobs = draw(halves, torch.tensor([0.5]), 1.0)
    assert tokens.item() == 515
    assert logprobs.item() == pytest.approx(-math.log(2))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_logits_that_are_not_finite_have_no_log_probability(value, temperature) -> None:
    logits = torch.zeros(2, 20)
    logits[0, 3] = value
    _, logprobs = draw(logits, torch.tensor([0.5, 0.5]), temperature)
    assert torch.isfinite(logprobs).tolist() == [False, True]


def test_no_uniform_is_zero(monkeypatch) -> None:
    """At 0 the first token would be drawn whatever its probability, once in 2**24 draws."""

    class Zeros:
        def random(self, out, dtype) -> None:
            out[:] = 0

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Zeros())
    pages = Pages([1, 2], Limits(3), make_policy().codec, 18)
    assert (pages.uniforms == 2.0**-25).all()
