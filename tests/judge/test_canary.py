"""Canaries: a gold that nobody can know, used only where a verifier is shown to read it."""

from __future__ import annotations

import numpy as np
import pytest

from evenodds.domain import Group, Problem, Rollout, Status, Stop, Verdict
from evenodds.judge import InlineJudge, rows_by
from evenodds.judge.audit import audit_metrics
from evenodds.judge.canary import MAKERS, Canary, find_canary
from evenodds.run.audit import canary_metrics
from evenodds.verifiers import as_verifier

PROBLEM = Problem("p", "12*3=", "36", "t")


def canary_of(verifier, problem: Problem = PROBLEM, right: str = "36") -> Canary | None:
    judge = InlineJudge(as_verifier(verifier))
    return find_canary(problem, right, lambda pairs: [*rows_by(judge, pairs)])


def group(*texts: str) -> Group:
    ids = np.zeros(1, np.int64)
    rollouts = [Rollout(ids, ids, np.zeros(1, np.float32), Stop.END_TOKEN, text) for text in texts]
    return Group(PROBLEM, rollouts, [Verdict(1.0, Status.RIGHT)] * len(texts))


@pytest.mark.parametrize(
    ("verifier", "problem", "right", "kind"),
    [
        ("number", PROBLEM, "36", "number"),
        ("math", PROBLEM, "36", "number"),
        ("text", Problem("p", "say it", "salt", "t"), "salt", "number"),
        ("json", Problem("p", "?", '{"value": {"a": 1}}', "t"), '{"a": 1}', "JSON table"),
        ("choice", Problem("p", "A) 1 B) 2", "B", "t"), "B", None),
        (
            lambda problem, text: text == f"<answer>{problem.answer}</answer>",
            PROBLEM,
            "36",
            "number",
        ),
        (lambda problem, text: len(text) > 3, PROBLEM, "36", None),
        (lambda problem, text: text == "36", PROBLEM, "36", None),
    ],
)
def test_a_canary_is_used_where_the_verifier_reads_it(verifier, problem, right, kind) -> None:
    found = canary_of(verifier, problem, right)
    assert (found and found.kind) == kind


def test_the_same_seed_gives_the_same_gold_and_no_two_steps_the_same() -> None:
    for kind in MAKERS:
        golds = {Canary(kind).problem(PROBLEM, 7, step).answer for step in range(50)}
        assert len(golds) == 50
        assert Canary(kind).problem(PROBLEM, 7, 3).answer in golds


def test_answers_that_talk_a_verifier_round_are_paid_for_a_canary() -> None:
    def soft(problem: Problem, text: str) -> bool:
        return problem.answer in text or "trust me" in text

    canary, judge = canary_of(soft), InlineJudge(as_verifier(soft))
    assert canary is not None
    assert canary_metrics(canary, judge, [group("36", "5")], 0, 1) == {"canary/paid": 0.0}
    assert canary_metrics(canary, judge, [group("36", "trust me")], 0, 1) == {"canary/paid": 0.5}
    assert canary_metrics(None, judge, [group("36")], 0, 1) == {}


def test_an_audit_counts_only_what_both_could_judge() -> None:
    right, wrong = Verdict(1.0, Status.RIGHT), Verdict(0.0, Status.WRONG)
    lost = Verdict(0.0, Status.TIMEOUT)
    groups = [group("a", "b", "c", "d"), group("e")]
    found = audit_metrics(groups, [[right, wrong, lost, right], [wrong]])
    assert found["audit/judged"] == 4
    assert found["audit/disagreement"] == found["audit/overpaid"] == 0.5
    assert found["audit/underpaid"] == 0
    assert found["audit/disagreement_low"] < 0.5 < found["audit/disagreement_high"]
    assert audit_metrics(groups, [[lost] * 4, [lost]]) == {}
