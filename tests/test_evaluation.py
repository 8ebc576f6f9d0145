"""Evaluation counts what it says it counts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evenodds.domain import Limits, Status, Verdict
from evenodds.evaluation import Evaluation, EvaluationSettings, doubling, evaluate, summary_of
from evenodds.judge import InlineJudge
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.tasks import make_task

TASK = make_task("multiplication")
SETTINGS = EvaluationSettings(limits=Limits(20), samples=4, problems=5)


def product(prompt: str) -> str:
    a, b = prompt.rstrip("=").split("*")
    return str(int(a) * int(b))


def run(script, settings=SETTINGS):
    return evaluate("fake", ScriptedSampler(script), InlineJudge(TASK.verifier), TASK, settings)


def test_a_perfect_policy_solves_every_held_out_problem() -> None:
    found = run(lambda prompt, rng: product(prompt))
    assert [level.label for level in found.levels] == list(TASK.levels)
    for number, level in enumerate(found.levels):
        assert [p.key for p in level.problems] == [p.key for p in TASK.held_out(number)[:5]]
        assert all((p.right, p.tries, p.greedy_right) == (4, 4, True) for p in level.problems)


def test_tries_right_and_truncated_are_counted_by_problem() -> None:
    found = run(lambda prompt, rng: product(prompt) if rng.random() < 0.5 else "9" * 40)
    problems = [p for level in found.levels for p in level.problems]
    assert all(p.right + p.truncated == 4 for p in problems)
    assert 0.4 < sum(p.right for p in problems) / sum(p.tries for p in problems) < 0.6


def test_without_greedy_there_is_none() -> None:
    settings = EvaluationSettings(limits=Limits(20), samples=2, problems=2, greedy=False)
    found = run(lambda prompt, rng: "1", settings)
    assert all(p.greedy_right is None for level in found.levels for p in level.problems)


def test_the_record_is_plain_json_with_its_settings() -> None:
    record = json.loads(json.dumps(run(lambda prompt, rng: "1").to_dict()))
    assert record["settings"] == {
        "samples": 4,
        "problems": 5,
        "levels": None,
        "greedy": True,
        "seed": 1234,
        "max_tokens": 20,
        "temperature": 1.0,
        "stop_strings": [],
    }
    assert record["levels"][3]["problems"][0]["tries"] == 4


def test_the_summary_has_every_k_by_level_and_over_all() -> None:
    settings = EvaluationSettings(limits=Limits(20), samples=6, problems=5, levels=(0, 2))
    measured = run(lambda prompt, rng: product(prompt) if rng.random() < 0.5 else "1", settings)
    found = json.loads(json.dumps(measured.summary().to_dict(), allow_nan=False))
    assert [level["label"] for level in found["levels"]] == [TASK.levels[0], TASK.levels[2]]
    for row in (found["overall"], *found["levels"]):
        assert list(row["pass@k"]) == ["1", "2", "4", "6"]
        assert row["pass@k"]["1"]["mean"] == pytest.approx(row["pass@1"]["mean"])
        for estimate in (row["pass@1"], row["greedy"], *row["pass@k"].values()):
            assert estimate["low"] <= estimate["mean"] <= estimate["high"]
        assert row["mean_length"] > 0 and row["truncated"] == 0 and row["entropy"] is not None
    assert found["overall"]["problems"] == 10 and found["overall"]["judged"] == 60


def unjudged(share: float) -> Evaluation:
    """Four answers a problem to the first level, of which a share cannot be judged."""
    rng = np.random.default_rng(0)

    def verifier(problem, completion) -> Verdict:
        broken = Verdict(0.0, Status.ERROR, note="the database\nis down")
        return broken if rng.random() < share else TASK.verifier(problem, completion)

    settings = EvaluationSettings(limits=Limits(20), samples=4, problems=12, levels=(0,))
    sampler = ScriptedSampler(lambda prompt, rng: product(prompt))
    return evaluate("fake", sampler, InlineJudge(verifier), TASK, settings)


def test_unjudged_answers_leave_the_k_that_they_make_impossible() -> None:
    found = unjudged(0.5)
    tries = [problem.tries for problem in found.levels[0].problems]
    assert min(tries) < 4 and found.judged() == sum(tries)
    overall = found.summary().overall
    assert list(overall.pass_at) == [k for k in (1, 2, 4) if k <= max(tries)]
    assert (overall.judged, overall.answers) == (sum(tries), 4 * len(tries))
    assert found.first_note == found.to_dict()["first_note"] == "the database is down"


def test_what_nobody_could_judge_has_no_rate_and_says_why() -> None:
    found = unjudged(1.0)
    assert found.judged() == 0 and found.first_note
    row = found.summary().to_dict()["overall"]
    assert (row["pass@1"]["mean"], row["pass@k"], row["greedy"]) == (None, {}, None)
    assert row["mean_length"] > 0


def test_all_judged_leaves_no_note() -> None:
    assert unjudged(0.0).first_note == ""


def test_the_share_that_was_cut_is_one_of_all_answers() -> None:
    problem = {"key": "a", "tries": 1, "right": 0, "truncated": 2, "mean_length": 5.0}
    level = {"level": 0, "label": "only", "problems": [problem], "entropy": 0.1}
    summary = summary_of({"settings": {"samples": 4}, "levels": [level]})
    assert summary.overall.side.truncated == 0.5
    assert summary.levels[0].side.truncated == 0.5


def test_k_doubles_and_ends_at_the_number_of_samples() -> None:
    assert [doubling(most) for most in (1, 2, 7, 8)] == [
        (1,), (1, 2), (1, 2, 4, 7), (1, 2, 4, 8)
    ]  # fmt: skip
