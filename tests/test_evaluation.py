"""Evaluation counts what it says it counts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evenodds.domain import (
    Group,
    Limits,
    Problem,
    Status,
    Verdict,
    evaluation_seed,
    rollout_seed,
    training_seed,
)
from evenodds.errors import UsageError
from evenodds.evaluation import (
    Canaries,
    Control,
    Evaluation,
    EvaluationSettings,
    doubling,
    evaluate,
    summary_of,
)
from evenodds.evaluation.counting import result_of, source_of, votes_of
from evenodds.judge import InlineJudge
from evenodds.sampling.scripted import ScriptedSampler
from evenodds.step import State
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


def verdict(status: Status, extracted: str | None = None) -> Verdict:
    return Verdict(float(status is Status.RIGHT), status, extracted)


def test_votes_put_all_right_answers_together_and_leave_out_who_says_nothing() -> None:
    right, wrong = Status.RIGHT, Status.WRONG
    said = [
        *(verdict(right, text) for text in ("12", "12.0", "12")),
        *(verdict(wrong, text) for text in ("7", " 7", "9", "\ud800" + "8" * 999)),
        verdict(Status.NO_ANSWER),
        verdict(right),
        verdict(Status.TIMEOUT, "12"),
    ]
    votes = votes_of(said)
    assert votes[:3] == (("12", 3, True), ("7", 2, False), ("9", 1, False))
    assert votes[3][0] == "?" + "8" * 199 and len(votes) == 4
    assert votes_of([verdict(Status.NO_ANSWER)]) == ()


def counted(texts: list[str], audit=None):
    """What is counted of one problem whose answers are these texts."""
    problem = TASK.held_out(4)[0]
    sampler = ScriptedSampler(lambda prompt, rng: texts.pop(0))
    rollouts = sampler.sample([problem.prompt], len(texts), Limits(40), 0)
    verdicts = InlineJudge(TASK.verifier).judge([problem], rollouts)[0]
    return result_of(Group(problem, rollouts[0], verdicts), None, audit)


def test_a_problem_counts_repeats_kinds_of_work_ends_and_entropy() -> None:
    right = product(str(TASK.held_out(4)[0].prompt))
    found = counted([f"#{right}", f"# {right}", f"<1+2=3#{right}", "#1", "#1 ", "9" * 60])
    assert (found.right, found.tries) == (3, 6)
    assert (found.duplicates, found.strategies) == (1, 3)
    assert (found.ended, found.truncated) == (5, 1)
    assert found.source == "multiplication"
    assert found.entropy is not None and found.entropy >= 0
    assert sorted(count for _, count, _ in found.votes) == [1, 2, 3]
    assert (found.audit_right, found.audit_tries, found.disagree) == (None, None, None)


def test_an_audit_is_counted_where_both_could_judge() -> None:
    right = product(str(TASK.held_out(4)[0].prompt))
    audit = [verdict(s) for s in (Status.WRONG, Status.RIGHT, Status.RIGHT, Status.ERROR)]
    found = counted([f"#{right}", f"#{right}", "#1", "#2"], audit)
    assert (found.audit_tries, found.audit_right, found.disagree) == (3, 2, 2)
    assert found.overpaid == 1


def test_where_a_problem_comes_from_is_its_column_or_its_task() -> None:
    assert source_of(Problem("k", "p", "a", "own", columns={"source": "book\ud800"})) == "book?"
    assert source_of(Problem("k", "p", "a", "own", columns={"level": 1})) == "own"


def with_sources(sources: list[str]) -> dict:
    """A record of two levels, whose problems come from these places, one after another."""
    record = run(lambda prompt, rng: product(prompt) if rng.random() < 0.5 else "1").to_dict()
    record["levels"] = record["levels"][:2]
    problems = [problem for level in record["levels"] for problem in level["problems"]]
    for problem, source in zip(problems, sources, strict=True):
        problem |= {"source": source, "entropy": ord(source) / 100}
    return json.loads(json.dumps(record))


def test_rates_by_source_go_over_all_levels_and_add_up() -> None:
    record = with_sources(["a", "b", "a", "a", "b", "a", "b", "b", "b", "a"])
    found = summary_of(record)
    assert [row.label for row in found.sources] == ["a", "b"]
    assert [row.problems for row in found.sources] == [5, 5]
    whole = found.overall.side.sampled.mean
    assert np.mean([row.side.sampled.mean for row in found.sources]) == pytest.approx(whole)
    assert [row.side.entropy for row in found.sources] == [pytest.approx(0.97), pytest.approx(0.98)]


def test_one_source_has_no_rows_of_its_own_and_neither_has_an_old_record() -> None:
    record = with_sources(["a"] * 10)
    assert summary_of(record).sources == ()
    for level in record["levels"]:
        for problem in level["problems"]:
            for name in ("source", "votes", "ended", "duplicates", "strategies", "audit_right"):
                del problem[name]
    side = summary_of(record).overall.side
    assert (side.ended, side.duplicates, side.strategies) == (None, None, None)
    assert side.sampled.mean > 0


def audited(of: Evaluation) -> tuple[int, int, int]:
    rows = [problem for level in of.levels for problem in level.problems]
    return tuple(
        sum(getattr(p, name) for p in rows) for name in ("tries", "audit_tries", "disagree")
    )


def test_an_audit_judges_the_same_answers_and_pays_nothing() -> None:
    def script(prompt, rng):
        return product(prompt) if rng.random() < 0.5 else "1"

    plain = run(script)
    sampler, judge = ScriptedSampler(script), InlineJudge(TASK.verifier)
    never = InlineJudge(lambda problem, completion: verdict(Status.WRONG))
    found = evaluate("fake", sampler, judge, TASK, SETTINGS, audit=never)
    tries, both, disagree = audited(found)
    right = sum(problem.right for level in found.levels for problem in level.problems)
    assert (both, disagree) == (tries, right)
    assert found.summary().overall.side.sampled == plain.summary().overall.side.sampled
    row = found.summary().to_dict()["overall"]
    assert row["audit"]["mean"] == 0 and row["disagree"]["mean"] == pytest.approx(right / tries)
    assert plain.summary().to_dict()["overall"]["audit"] is None


def test_a_control_task_and_canaries_are_measured_beside_and_change_nothing() -> None:
    other = make_task("addition")

    def script(prompt, rng):
        return product(prompt) if "*" in prompt else str(eval(prompt.rstrip("=")))

    sampler, judge = ScriptedSampler(script), InlineJudge(TASK.verifier)
    beside = EvaluationSettings(limits=Limits(20), samples=2, problems=3, greedy=False)
    control = Control(other, InlineJudge(other.verifier), beside)
    trap = Problem("canary/1", "1*1=", "2", "canary")
    found = evaluate("fake", sampler, judge, TASK, SETTINGS, control=control, canaries=[trap])
    assert found.levels == run(script).levels
    assert found.control is not None and found.control.task == "addition"
    assert found.control_note == "" and found.canaries == Canaries(4, 0, "")
    record = json.loads(json.dumps(found.to_dict()))
    assert record["control"]["settings"]["samples"] == 2
    summary = summary_of(record)
    assert summary.control is not None and summary.control.overall.side.sampled.mean == 1
    assert summary.canaries == (4, 0)
    kinds = [(one.of, one.kind) for one in found.answers]
    assert kinds == [
        ("task", "sampled"), ("task", "greedy"), ("canaries", "sampled"), ("control", "sampled")
    ]  # fmt: skip


def test_a_canary_that_is_paid_is_shown() -> None:
    trap = Problem("canary/1", "6*7=", "42", "canary")
    sampler, judge = (
        ScriptedSampler(lambda prompt, rng: product(prompt)),
        InlineJudge(TASK.verifier),
    )
    found = evaluate("fake", sampler, judge, TASK, SETTINGS, canaries=[trap])
    assert found.canaries == Canaries(4, 4, "42")


def test_a_control_task_that_nobody_solves_says_what_it_cannot_show() -> None:
    other = make_task("addition")
    control = Control(other, InlineJudge(other.verifier), SETTINGS)
    sampler, judge = ScriptedSampler(lambda prompt, rng: "x"), InlineJudge(TASK.verifier)
    found = evaluate("fake", sampler, judge, TASK, SETTINGS, control=control)
    assert "no loss" in found.control_note == found.summary().control_note
    none = evaluate("fake", sampler, judge, TASK, SETTINGS, control_note="none was measured")
    assert none.control is None and none.to_dict()["control_note"] == "none was measured"


class Watched(ScriptedSampler):
    """A sampler that notes the seed, the number and the length of what it is asked."""

    def __init__(self) -> None:
        super().__init__(lambda prompt, rng: "1")
        self.rollouts: list = []

    def sample(self, *asked, **more):
        found = super().sample(*asked, **more)
        self.rollouts += [rollout for group in found for rollout in group]
        return found


@pytest.mark.parametrize("seed", [0, 1234, 2**16 - 1])
def test_no_rollout_of_an_evaluation_has_the_seed_of_one_that_is_trained_on(seed: int) -> None:
    """By construction, not by luck: training seeds begin where those of evaluations end."""
    for drawn in (0, 5, seed, seed + 2**16, 2**18 - 1, 2**18, 2**32 - 1):
        assert 2**18 <= training_seed(drawn) < 2**32
    assert training_seed(2**18) == 2**18  # what is no evaluation's seed is left as it was
    parts = [evaluation_seed(seed, part) for part in range(3)]
    assert len(set(parts)) == 3 and max(parts) < 2**18

    other = make_task("addition")
    settings = EvaluationSettings(Limits(20), samples=3, problems=4, greedy=False, seed=seed)
    control = Control(other, InlineJudge(other.verifier), settings)
    traps = [Problem(f"canary/{n}", f"{n}*1=", "x", "canary") for n in range(4)]
    sampler, judge = Watched(), InlineJudge(TASK.verifier)
    evaluate("fake", sampler, judge, TASK, settings, control=control, canaries=traps)
    evaluated = [rollout.seed for rollout in sampler.rollouts]
    assert len(evaluated) == len(set(evaluated)) > 200
    trained = {
        rollout_seed(State(None, seed=run, step=step).sampling_seed(turn), prompt, answer)
        for run in (0, seed)
        for step in range(20)
        for turn in range(3)
        for prompt in range(4)
        for answer in range(3)
    }
    assert not trained & set(evaluated)


@pytest.mark.parametrize("seed", [-1, 2**16])
def test_a_seed_that_would_leave_its_part_is_refused(seed: int) -> None:
    with pytest.raises(UsageError, match="seeds of its own"):
        evaluation_seed(seed)


def test_k_doubles_and_ends_at_the_number_of_samples() -> None:
    assert [doubling(most) for most in (1, 2, 7, 8)] == [
        (1,), (1, 2), (1, 2, 4, 7), (1, 2, 4, 8)
    ]  # fmt: skip
