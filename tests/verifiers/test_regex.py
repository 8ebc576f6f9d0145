"""The regex verifier: answers that fit a pattern, and patterns that cannot be used."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenodds.domain import Completion, Problem, Status, Stop, Verdict
from evenodds.verifiers import KINDS, find_verifier
from evenodds.verifiers.regex import DEFAULT, Policy, regex
from tests.verifiers.hostile import SMALL, slowest

SEARCH = Policy(mode="search")
DATE = r"\d{4}-\d{2}-\d{2}"


def judged(
    answer: str, gold: str = DATE, policy: Policy = DEFAULT, stop: Stop = Stop.END_TOKEN
) -> Verdict:
    return regex(Problem("key", "prompt", gold, "task"), Completion(answer, stop), policy)


@pytest.mark.parametrize(
    ("answer", "gold", "policy", "score"),
    [
        ("2026-01-31", DATE, DEFAULT, 1.0),
        ("Some work.\n2026-01-31", DATE, DEFAULT, 1.0),
        ("<answer> 2026-01-31\n</answer>", DATE, DEFAULT, 1.0),
        ("\\boxed{2026-01-31}", DATE, DEFAULT, 1.0),
        ("It is 2026-01-31", DATE, DEFAULT, 0.0),
        ("2026-01-31 ", DATE, DEFAULT, 1.0),
        ("2026-01-312", DATE, DEFAULT, 0.0),
        ("2026-01-31 or 2026-02-01", DATE, DEFAULT, 0.0),
        ("YES", "yes|no", DEFAULT, 0.0),
        ("YES", "yes|no", Policy(ignore_case=True), 1.0),
        ("yesno", "yes|no", DEFAULT, 0.0),
        ("<answer>a\nb</answer>", "a.b", DEFAULT, 0.0),
        ("<answer>a\nb</answer>", "a.b", Policy(dotall=True), 1.0),
        ("It is 2026-01-31.", DATE, SEARCH, 1.0),
        ("It is not 2026-01-31", DATE, SEARCH, 0.0),
        ("It isn't 2026-01-31", DATE, SEARCH, 0.0),
        ("2026-01-31 is wrong", DATE, SEARCH, 0.0),
        ("2026-01-31 or the day before", DATE, SEARCH, 0.0),
        ("Monday or 2026-01-31", DATE, SEARCH, 0.0),
        ("Paris or maybe Rome", "Rome", SEARCH, 0.0),
        ("Rome/Paris", "Rome", SEARCH, 0.0),
        ("2026-01-31 " * 60, DATE, SEARCH, 0.0),
        ("none", DATE, SEARCH, 0.0),
        ("<think>2026-01-31</think>none", DATE, SEARCH, 0.0),
    ],
)
def test_answers(answer: str, gold: str, policy: Policy, score: float) -> None:
    verdict = judged(answer, gold, policy)
    assert (verdict.score, verdict.status is Status.RIGHT) == (score, score == 1.0), verdict


@pytest.mark.parametrize(
    "gold", ["", "(", "[z-a]", "(?P<a>x)(?P<a>y)", "*", "(" * 5_000, "a" * 20_000]
)
def test_patterns_that_do_not_compile(gold: str) -> None:
    assert judged("x", gold).status is Status.GOLD_UNREADABLE


def test_a_pattern_that_everything_meets_is_refused_in_search() -> None:
    assert judged("x", ".*", SEARCH).status is Status.GOLD_UNREADABLE
    assert judged("x", ".*").score == 1.0


def test_a_cut_answer_is_paid_only_in_closed_marks() -> None:
    assert judged("2026-01-31", stop=Stop.BUDGET).score == 0.0
    assert judged("<answer>2026-01-31</answer>", stop=Stop.BUDGET).score == 1.0
    assert judged("2026-01-31", stop=Stop.BUDGET).status is Status.TRUNCATED


def test_it_runs_where_it_can_be_killed() -> None:
    """A pattern with two repeats in each other takes longer than the sun has on 40 letters."""
    assert KINDS["regex"].runs == "worker"
    assert judged("a" * 10_001, "(a+)+b").status is Status.WRONG  # too long to be tried at all
    verifier = find_verifier("regex", {"mode": "search"})
    assert verifier(Problem("k", "p", "b", "t"), Completion("abc")).score == 1.0


@pytest.mark.parametrize("text", SMALL)
def test_hostile_texts(text: str) -> None:
    assert judged(text).score == 0.0
    assert judged(text, policy=SEARCH).score == 0.0


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([*SMALL, "2026-01-31", " or "]) | st.text(max_size=20)),
    st.just(DATE) | st.text(alphabet="ab(|)[]^$.\\", max_size=6),
    st.sampled_from([DEFAULT, SEARCH]),
    st.sampled_from(list(Stop)),
)
def test_any_text_gives_a_verdict(pieces: list[str], gold: str, policy: Policy, stop: Stop) -> None:
    assert judged("".join(pieces), gold, policy, stop).score in (0.0, 1.0)


def test_its_time_is_linear_in_the_text() -> None:
    assert slowest(regex, Problem("key", "prompt", DATE, "task"), 1_000_000) < 2
