"""What an update is said to have done, on numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evenodds import diagnostics

FAR = hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(-1e4, 1e4))


def logs(*values: float) -> np.ndarray:
    return np.log(np.array(values))


def test_ratio_metrics() -> None:
    found = diagnostics.ratio_metrics(logs(0.5, 1.0, 1.5, 2.0))
    assert found == pytest.approx(
        {
            "ratio/min": 0.5,
            "ratio/p01": 0.515,
            "ratio/p50": 1.25,
            "ratio/mean": 1.25,
            "ratio/p99": 1.985,
            "ratio/max": 2.0,
        }
    )


def test_clip_shares_are_apart_by_the_sign_of_the_advantage() -> None:
    clipped = np.array([True, False, True, False, False, False])
    advantages = np.array([1.0, 1.0, -1.0, -1.0, -1.0, 0.0])
    assert diagnostics.clip_metrics(clipped, advantages) == pytest.approx(
        {
            "clip_ratio/high_mean": 1 / 2,
            "clip_ratio/low_mean": 1 / 3,
            "clip_ratio/region_mean": 2 / 6,
        }
    )
    only = diagnostics.clip_metrics(clipped[:2], advantages[:2])
    assert only["clip_ratio/low_mean"] == 0.0  # nothing wrong there to be clipped


def test_kl_estimators_of_one_gap() -> None:
    found = diagnostics.kl_estimates(np.array([0.5, -0.5]))
    assert found["k1"] == 0.0
    assert found["k2"] == pytest.approx(0.125)
    assert found["k3"] == pytest.approx((np.exp(0.5) + np.exp(-0.5)) / 2 - 1)


def test_in_expectation_k1_and_k3_are_the_divergence_and_k2_is_near() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.45, 0.35, 0.2])
    drawn = np.repeat(np.log(q / p), (p * 10).astype(int))  # each symbol as often as p draws it
    true = float((p * np.log(p / q)).sum())
    found = diagnostics.kl_estimates(drawn)
    assert found["k1"] == pytest.approx(true)
    assert found["k3"] == pytest.approx(true)
    assert found["k2"] == pytest.approx(true, rel=0.05)


def test_names_of_the_two_divergences() -> None:
    gap = np.array([0.1, -0.3])
    k = diagnostics.kl_estimates(gap)
    assert diagnostics.kl_metrics(gap) == {f"kl_to_old/{n}": v for n, v in k.items()}
    found = diagnostics.reference_metrics(gap)
    assert found == {"kl": k["k3"], "kl/k1": k["k1"], "kl/k2": k["k2"]}


def test_entropy_by_quarters_of_the_longest_answer() -> None:
    position = np.array([0, 1, 2, 3, 4, 5, 6, 7, 0, 1])
    entropy = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 4.0, 4.0])
    assert diagnostics.entropy_metrics(entropy, position) == pytest.approx(
        {
            "entropy": 2.8,
            "entropy/first_quarter": 2.5,
            "entropy/second_quarter": 2.0,
            "entropy/third_quarter": 3.0,
            "entropy/fourth_quarter": 4.0,
        }
    )


@pytest.mark.parametrize(
    ("length", "present"),
    [(1, ["first"]), (2, ["first", "third"]), (4, ["first", "second", "third", "fourth"])],
)
def test_a_quarter_without_tokens_is_missing(length, present) -> None:
    found = diagnostics.entropy_metrics(np.ones(length), np.arange(length))
    assert list(found) == ["entropy", *(f"entropy/{name}_quarter" for name in present)]


def test_gap_between_learner_and_sampler() -> None:
    found = diagnostics.gap_metrics(np.array([-1.0, -2.0]), np.array([-1.5, -1.9]))
    assert found == pytest.approx(
        {
            "sampling/sampling_logp_difference/mean": 0.3,
            "sampling/sampling_logp_difference/max": 0.5,
        }
    )


def test_correction_weights_and_how_many_are_above_the_cap() -> None:
    found = diagnostics.correction_metrics(logs(0.5, 1.0, 2.0, 4.5), 2.0)
    assert found == pytest.approx(
        {
            "sampling/importance_sampling_ratio/mean": 2.0,
            "sampling/importance_sampling_ratio/max": 4.5,
            "sampling/importance_sampling_ratio/capped": 0.25,
        }
    )


@given(values=FAR)
def test_figures_stay_finite_however_far_the_policy_moved(values) -> None:
    """Warnings are errors here: an overflow would be one."""
    found = {
        **diagnostics.ratio_metrics(values),
        **diagnostics.kl_metrics(values),
        **diagnostics.reference_metrics(values),
        **diagnostics.correction_metrics(values, 2.0),
        **diagnostics.gap_metrics(values, -values),
    }
    assert all(np.isfinite(value) for value in found.values())


@given(values=FAR)
def test_k2_and_k3_are_never_negative(values) -> None:
    found = diagnostics.kl_estimates(values)
    assert found["k2"] >= 0
    assert found["k3"] >= -1e-9


def test_what_is_given_is_not_written() -> None:
    values = np.array([0.5, -200.0, 300.0])
    kept = values.copy()
    diagnostics.ratio_metrics(values)
    diagnostics.kl_estimates(values)
    diagnostics.correction_metrics(values, 2.0)
    assert values.tolist() == kept.tolist()
