"""maj@k and pass@k against all subsets, one by one."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.errors import UsageError
from evenodds.statistics import Ballot, maj_at_k, maj_at_k_curve, pass_at_k
from evenodds.statistics.pass_at import pass_at_k_values

ballots = st.builds(
    Ballot,
    st.integers(0, 5),
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.integers(0, 2),
).filter(lambda ballot: 1 <= ballot.answers <= 11)


def answers_of(ballot: Ballot) -> list[str | None]:
    """The answers themselves: `right`, other texts, and None."""
    wrong = [str(at) for at, count in enumerate(ballot.wrong) for _ in range(count)]
    return ["right"] * ballot.right + wrong + [None] * ballot.silent


def has_majority(drawn: tuple[str | None, ...]) -> bool:
    votes = Counter(one for one in drawn if one is not None)
    return all(votes["right"] > count for one, count in votes.items() if one != "right") and bool(
        votes["right"]
    )


@settings(max_examples=80, deadline=None)
@given(ballots)
def test_majorities_are_those_of_all_subsets(ballot):
    answers = answers_of(ballot)
    for k in range(1, len(answers) + 1):
        subsets = list(itertools.combinations(answers, k))
        share = sum(map(has_majority, subsets)) / len(subsets)
        assert maj_at_k(ballot, k) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_pass_at_k_is_that_of_all_subsets(n):
    for c in range(n + 1):
        answers = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            subsets = list(itertools.combinations(answers, k))
            assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize("n", [1, 7, 64, 3000])
def test_pass_at_k_of_many_problems_is_that_of_each(n):
    c = np.unique(np.linspace(0, n, 9).astype(int))
    for k in {1, (n + 1) // 2, n}:
        each = [pass_at_k(n, int(right), k) for right in c]
        found = pass_at_k_values(np.full(c.shape, float(n)), c.astype(float), k)
        assert found == pytest.approx(each, abs=1e-11)
        assert found[0] == 0 and found[-1] == 1


def test_a_tie_is_no_majority_and_silence_votes_for_nothing():
    assert maj_at_k(Ballot(2, (2,)), 4) == 0
    assert maj_at_k(Ballot(1, (), 3), 4) == pytest.approx(1)
    assert maj_at_k(Ballot(0, (), 4), 2) == 0
    assert maj_at_k(Ballot(1, (), 3), 1) == pytest.approx(1 / 4)  # silence uses up the draw
    assert maj_at_k(Ballot(2, (1, 1)), 4) == pytest.approx(1)


def test_it_is_unbiased_for_independent_answers():
    """The mean of maj@3 over samples of eight is the chance with three answers."""
    rng = np.random.default_rng(5)
    shares = [0.4, 0.3, 0.2, 0.1]  # right, two others, silent
    votes = rng.multinomial(8, shares, 30_000).tolist()
    found = np.mean([maj_at_k(Ballot(r, (a, b), s), 3) for r, a, b, s in votes])
    right, *others = rng.multinomial(3, shares, 400_000).T
    truth = np.mean(right > np.maximum(others[0], others[1]))
    assert found == pytest.approx(truth, abs=0.005)


@pytest.mark.parametrize("k", [1, 64, 1500])
def test_many_answers_neither_overflow_nor_lose_digits(k):
    ballot = Ballot(800, (400, 299), 1)
    found = maj_at_k(ballot, k)
    assert 0.5 < found <= 1 or k == 1
    if k == 1:
        assert found == pytest.approx(800 / 1500, rel=1e-9)


def test_more_than_there_are_is_refused():
    with pytest.raises(UsageError, match="maj@5 needs at least 5"):
        maj_at_k(Ballot(2, (2,)), 5)
    with pytest.raises(UsageError):
        maj_at_k(Ballot(-1, (2,)), 1)
    with pytest.raises(UsageError, match="maj@9 needs 9"):
        maj_at_k_curve([Ballot(3), Ballot(1, (2,))], [9])


def test_the_curve_is_the_mean_with_doubt_and_leaves_out_who_has_too_few():
    one, two = Ballot(3, (1,)), Ballot(1, (1,))
    at_one, at_four = maj_at_k_curve([one, two], [1, 4])
    assert at_one.mean == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert at_four.mean == pytest.approx(1)
    assert at_four.low < 1
