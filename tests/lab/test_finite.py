"""The exact finite policy: its gradient, its limits, and the command that shows them."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.cli import main
from evenodds.credit import CREDITS
from evenodds.errors import UsageError
from evenodds.lab.finite import PRIMES, Question, ascend, exact_gradient, measures, optimum
from evenodds.lab.finite_picture import picture
from evenodds.lab.teaching import categorical_entropy

RIGHT = np.array(PRIMES.right)
CASES = st.integers(2, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-4, 4), min_size=n, max_size=n),
        st.lists(st.floats(0, 1), min_size=n, max_size=n),
        st.sampled_from([0.0, 0.1, 0.25, 1.0, 3.0]),
    )
)


def softmax(logits):
    weights = np.exp(logits - np.max(logits))
    return weights / weights.sum()


def objective(logits, rewards, beta):
    pi = softmax(logits)
    return float(pi @ rewards) + beta * categorical_entropy(pi)


# --- the gradient


@given(case=CASES)
def test_without_entropy_the_gradient_is_the_probability_times_the_centred_reward(case):
    logits, rewards = np.array(case[0]), np.array(case[1])
    pi = softmax(logits)
    np.testing.assert_allclose(
        exact_gradient(logits, rewards), pi * (rewards - pi @ rewards), atol=1e-15
    )


@settings(deadline=None)
@given(case=CASES)
def test_the_gradient_is_that_of_autograd(case):
    rewards, beta = torch.tensor(case[1], dtype=torch.float64), case[2]
    logits = torch.tensor(case[0], dtype=torch.float64, requires_grad=True)
    log_pi = logits.log_softmax(0)
    value = (log_pi.exp() * (rewards - beta * log_pi)).sum()
    (expected,) = torch.autograd.grad(value, logits)
    found = exact_gradient(np.array(case[0]), np.array(case[1]), beta)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-14)


@given(case=CASES)
def test_the_gradient_is_the_slope_of_the_objective(case):
    logits, rewards, beta = np.array(case[0]), np.array(case[1]), case[2]
    gradient, h = exact_gradient(logits, rewards, beta), 1e-5
    for i in range(logits.size):
        step = h * (np.arange(logits.size) == i)
        slope = objective(logits + step, rewards, beta) - objective(logits - step, rewards, beta)
        assert slope / (2 * h) == pytest.approx(gradient[i], abs=1e-8)


def test_the_gradient_survives_logits_far_apart():
    gradient = exact_gradient(np.array([2000.0, 0.0, -2000.0]), np.array([1.0, 1.0, 0.0]), 0.25)
    assert gradient.tolist() == [0, 0, 0]


def test_lists_are_taken_like_arrays():
    assert exact_gradient([0, 0], [1, 0]).tolist() == [0.25, -0.25]
    assert exact_gradient((0, 0), (1, 0), beta=1) == pytest.approx([0.25, -0.25])
    assert optimum([1, 0], 0.25) == pytest.approx(softmax([4.0, 0.0]))
    assert optimum([1, 0], 1e-9).tolist() == [1, 0]


# --- what the ascent does


@settings(max_examples=40, deadline=None)
@given(
    weights=st.lists(st.integers(1, 50), min_size=3, max_size=8),
    mask=st.integers(1, 6),
    rate=st.sampled_from([0.05, 0.4, 0.8]),
)
def test_without_entropy_the_reward_never_falls(weights, mask, rate):
    right = tuple(bool(mask >> i & 1) for i in range(len(weights)))
    start = tuple((np.array(weights) / sum(weights)).tolist())
    question = Question("", tuple("abcdefgh"[: len(weights)]), right, start)
    ascent = ascend(question, 0.0, 200, rate)
    assert (np.diff(ascent.reward) >= -1e-15).all()
    assert ascent.reward[-1] > ascent.reward[0]


def test_reward_alone_rises_while_entropy_and_coverage_fall():
    ascent = ascend()
    assert (np.diff(ascent.reward) > 0).all()
    for falls in (ascent.entropy, ascent.coverage, ascent.effective_right):
        assert (np.diff(falls) < 0).all()
    assert (np.diff(ascent.distinct_right(8)[3:]) < 0).all()
    assert measures(ascent, 0) == pytest.approx((0.5, 1.584, 0.24, 2.314), abs=5e-4)
    assert measures(ascent, -1) == pytest.approx((0.995, 0.087, 0.007, 1.048), abs=5e-4)


def test_with_entropy_the_reward_rises_and_the_other_right_answers_stay():
    ascent = ascend(beta=0.25)
    first, last = measures(ascent, 0), measures(ascent, -1)
    assert (np.diff(ascent.reward) > 0).all()
    assert (np.diff(ascent.objective) > 0).all()
    assert last == pytest.approx((0.946, 1.806, 0.784, 4.939), abs=5e-4)
    assert last.entropy > first.entropy
    assert last.coverage > 3 * first.coverage
    assert ascent.coverage.min() == pytest.approx(0.196, abs=5e-4)  # the dip that the docs tell of
    assert ascent.distinct_right(8)[-1] > 2 * ascent.distinct_right(8)[0]
    assert (ascent.distinct_right(8) >= ascent.distinct_right(8)[0]).all()


@pytest.mark.parametrize(("beta", "steps"), [(0.25, 20_000), (0.5, 3_000), (1.0, 1_000)])
def test_with_entropy_it_converges_to_the_closed_form(beta, steps):
    ascent = ascend(beta=beta, steps=steps)
    best = optimum(PRIMES.rewards, beta)
    expected = np.exp(PRIMES.rewards / beta) / np.exp(PRIMES.rewards / beta).sum()
    np.testing.assert_allclose(best, expected, rtol=1e-12)
    np.testing.assert_allclose(ascent.probabilities[-1], best, atol=1e-6)
    assert abs(ascent.probabilities[0] - best).max() > 0.1


@given(case=CASES)
def test_nothing_is_better_than_the_closed_form(case):
    rewards, beta = np.array(case[1]), case[2] or 0.5
    best = optimum(rewards, beta)
    assert exact_gradient(np.log(best), rewards, beta) == pytest.approx(0, abs=1e-12)
    there = objective(np.log(best), rewards, beta)
    assert there == pytest.approx(beta * np.log(np.exp(rewards / beta).sum()))
    assert there >= objective(np.array(case[0]), rewards, beta) - 1e-12


@pytest.mark.parametrize("beta", [0.05, 0.25, 1.0])
def test_a_kl_to_the_base_keeps_the_proportions_of_its_right_answers(beta):
    """E[r] - beta KL(pi, base) is E[r + beta log base] + beta H(pi)."""
    base = np.array(PRIMES.start)
    best = optimum(PRIMES.rewards + beta * np.log(base), beta)
    weights = base * np.exp(PRIMES.rewards / beta)
    np.testing.assert_allclose(best, weights / weights.sum(), rtol=1e-12)
    np.testing.assert_allclose(best[RIGHT] / best[RIGHT].sum(), base[RIGHT] / 0.5, rtol=1e-12)


def test_the_likeliest_right_answer_wins_by_a_law_of_conservation():
    """exp(-z_i) - exp(-z_j) of two right answers stays what it was along the gradient flow."""
    rewards, logits = PRIMES.rewards, np.log(np.array(PRIMES.start))
    first = np.exp(-logits[RIGHT])
    for _ in range(20_000):
        logits = logits + 0.005 * exact_gradient(logits, rewards)
    last = np.exp(-logits[RIGHT])
    assert last[0] < 0.5 * first[0]  # it moved
    np.testing.assert_allclose(last[1:] - last[0], first[1:] - first[0], rtol=5e-3)


def test_two_right_answers_equally_likely_stay_so():
    question = Question("", ("a", "b", "c"), (True, True, False), (0.25, 0.25, 0.5))
    ascent = ascend(question, steps=300)
    assert ascent.coverage == pytest.approx(0.5)
    assert ascent.reward[-1] > 0.98


@pytest.mark.parametrize("name", ["centered", "leave_one_out", "standardized"])
def test_a_group_relative_advantage_changes_the_speed_and_not_the_path(name):
    """The expected update of a group of G draws, by all groups there are, is along the gradient."""
    pi, rewards, size = np.array([0.5, 0.1, 0.3, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]), 4
    expected = np.zeros(4)
    for draws in itertools.product(range(4), repeat=size):
        picked = np.eye(4)[list(draws)]
        scores = CREDITS[name](rewards[list(draws)])[:, None] * (picked - pi)
        expected += np.prod(pi[list(draws)]) * scores.mean(axis=0)
    gradient = exact_gradient(np.log(pi), rewards)
    speed = float(expected @ gradient / (gradient @ gradient))
    np.testing.assert_allclose(expected, speed * gradient, atol=1e-15)
    if name != "standardized":
        assert speed == pytest.approx({"centered": 3 / 4, "leave_one_out": 1}[name])
    else:
        assert speed > 1.5


def test_measures_of_a_policy_by_hand():
    question = Question("", ("a", "b", "c"), (True, True, False), (0.6, 0.2, 0.2))
    ascent = ascend(question, steps=1)
    among = [0.75, 0.25]
    assert ascent.probabilities[0] == pytest.approx([0.6, 0.2, 0.2])
    assert ascent.reward[0] == pytest.approx(0.8)
    assert ascent.coverage[0] == pytest.approx(0.25)
    assert ascent.effective_right[0] == pytest.approx(math.exp(categorical_entropy(among)))
    assert ascent.distinct_right(2)[0] == pytest.approx(2 - 0.4**2 - 0.8**2)
    assert ascent.distinct_right(1) == pytest.approx(ascent.reward)
    gradient = exact_gradient(np.log([0.6, 0.2, 0.2]), question.rewards)
    moved = softmax(np.log([0.6, 0.2, 0.2]) + 0.4 * gradient)
    assert ascent.probabilities[1] == pytest.approx(moved)


def test_the_same_input_gives_the_same_bits():
    first, second = ascend(beta=0.3), ascend(beta=0.3)
    assert first.log_probabilities.tobytes() == second.log_probabilities.tobytes()


@pytest.mark.parametrize(
    "settings_", [{"beta": 100.0, "learning_rate": 100.0}, {"beta": 0.0, "learning_rate": 100.0}]
)
def test_a_wild_ascent_stays_a_policy(settings_):
    ascent = ascend(steps=2_000, **settings_)
    assert np.isfinite(ascent.log_probabilities).all()
    assert ascent.probabilities.sum(axis=1) == pytest.approx(1)
    assert np.isfinite([ascent.coverage, ascent.effective_right, ascent.entropy]).all()


REFUSED = [
    lambda: ascend(beta=-0.1),
    lambda: ascend(beta=math.nan),
    lambda: ascend(steps=0),
    lambda: ascend(steps=10**9),
    lambda: ascend(learning_rate=0),
    lambda: ascend(learning_rate=math.inf),
    lambda: ascend(steps=1).distinct_right(0),
    lambda: optimum(PRIMES.rewards, 0.0),
    lambda: optimum([1, 0], "much"),  # pyright: ignore
    lambda: optimum([1, 0], [0.25]),  # pyright: ignore
    lambda: optimum([1, 0], math.inf),
    lambda: optimum([], 0.25),
    lambda: optimum([[1, 0]], 0.25),
    lambda: exact_gradient([0, 0], [1]),
    lambda: exact_gradient([0, "a"], [1, 0]),
    lambda: exact_gradient([0, math.nan], [1, 0]),
    lambda: exact_gradient([0, 0], [1, 0], -1.0),
    lambda: exact_gradient([0, 0], [1, 0], None),  # pyright: ignore
    lambda: Question("", ("a", "b"), (True,), (0.5, 0.5)),
    lambda: Question("", ("a", "b"), (False, False), (0.5, 0.5)),
    lambda: Question("", (), (), ()),
    lambda: Question("", ("a", "b"), (True, False), (1.0, 0.0)),
    lambda: Question("", ("a", "b"), (True, False), (0.5, 0.4)),
    lambda: Question("", ("a", "b"), (True, False), (0.5, math.nan)),
]


@pytest.mark.parametrize("call", REFUSED, ids=range(len(REFUSED)))
def test_what_makes_no_sense_is_refused_in_one_line(call):
    with pytest.raises(UsageError, match=r"Got .*\. \w+ ") as caught:
        call()
    assert "\n" not in str(caught.value)


# --- the command


def test_the_command_prints_both_settings_side_by_side(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["lab", "finite"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert ["0", "0.500", "1.584", "0.240", "2.31", "0.500", "1.584", "0.240", "2.31"] in lines
    assert ["400", "0.995", "0.087", "0.007", "1.05", "0.946", "1.806", "0.784", "4.94"] in lines
    assert max(len(line) for line in out.splitlines()) <= 80
    assert [line for line in out.splitlines() if line != line.rstrip()] == []
    page = (Path(__file__).parents[2] / "docs" / "finite-policy.md").read_text(encoding="utf-8")
    assert out in page


def test_the_command_follows_its_flags_and_draws(tmp_path, capsys):
    target = tmp_path / "it.svg"
    flags = ["--beta", "0.5", "--steps", "40", "--learning-rate", "0.2", "--plot", str(target)]
    assert main(["lab", "finite", *flags]) == 0
    out = capsys.readouterr().out
    last = measures(ascend(beta=0.5, steps=40, learning_rate=0.2), -1)
    assert f"{last.reward:.3f}" in out
    assert "β = 0.5" in out
    tree = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    words = [node.text for node in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert words.count("β = 0.5") == words.count("β = 0") == 4
    assert words.count("training step") == 6
    assert {"7", "wrong"} <= set(words)


def test_no_two_right_answers_look_alike():
    tree = ElementTree.fromstring(picture([ascend(beta=0.25)]))
    areas = [node.get("class") for node in tree.iter("{http://www.w3.org/2000/svg}polygon")]
    assert areas == ["s c2", "s c1", "s c3", "s c4", "s faint c1", "s faint c3"]


@pytest.mark.parametrize("steps", [1, 2, 23, 1_000])
def test_the_picture_holds_no_number_that_is_none(steps):
    text = picture([ascend(beta=beta, steps=steps) for beta in (0.0, 0.25)])
    assert "nan" not in text
    assert "inf" not in text
    ElementTree.fromstring(text)


@pytest.mark.parametrize(
    "flags",
    [
        ["--beta", "0"],
        ["--beta", "-1"],
        ["--beta", "nan"],
        ["--beta", "much"],
        ["--steps", "0"],
        ["--learning-rate", "-1"],
        ["--plot", "it.png"],
        ["--plot", "no/such/folder/it.svg"],
        ["--plots", "it.svg"],
    ],
)
def test_wrong_flags_take_one_line_and_exit_2(flags, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "finite", *flags]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("evenodds: ")
    assert len(printed.err.splitlines()) == 1


def test_a_picture_that_cannot_be_written_is_said_to_be_so(tmp_path, capsys):
    (tmp_path / "it.svg").mkdir()
    assert main(["lab", "finite", "--steps", "2", "--plot", str(tmp_path / "it.svg")]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_help_and_the_experiment_need_no_torch():
    code = (
        "import sys; from evenodds.cli import main\n"
        "try: main(['lab', 'finite', '--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules\n"
        "main(['lab', 'finite', '--steps', '5']); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "usage: evenodds lab finite" in done.stdout
    assert "0.500" in done.stdout
